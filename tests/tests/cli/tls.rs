//! Connections by TLS, as the cluster file's `sslmode` asks for.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use shardid_tests::Server;

use crate::cluster::Cluster;

/// Runs openssl, of which every PostgreSQL package of Debian brings one.
fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(folder)
        .output()
        .expect("openssl runs");
    assert!(output.status.success(), "{output:?}");
}

/// An authority, and a key and certificate of its own for 127.0.0.1.
fn certificates(folder: &Path) {
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    openssl(folder, &format!("{new} -subj /CN=ours -keyout ca.key -out ca.pem"));
    openssl(folder, &format!("{new} -subj /CN=theirs -keyout other.key -out other.pem"));
    openssl(
        folder,
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=pg1 -keyout server.key -out server.csr",
    );
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
}

#[test]
fn a_server_is_trusted_only_by_its_own_authority() {
    let cluster = Cluster::of(1, 4);
    certificates(cluster.folder());
    let server = Server::builder().fsync(false).start();
    let owner = std::fs::metadata(server.data()).unwrap().uid();
    for file in ["server.key", "server.pem"] {
        let path = server.data().join(file);
        std::fs::copy(cluster.folder().join(file), &path).unwrap();
        chown(&path, Some(owner), None).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
    }
    server.stop();
    server.set_conf("ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'");
    let access = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
    std::fs::write(server.data().join("pg_hba.conf"), access).unwrap();
    server.start();
    server.psql("postgres", "CREATE DATABASE app");

    let url = |more: &str| format!("{}?{more}", server.url("app"));
    let trusted = format!("sslrootcert={}", cluster.folder().join("ca.pem").display());
    let foreign = format!("sslrootcert={}", cluster.folder().join("other.pem").display());
    cluster.edit(&cluster.nodes[0].url(), &url("sslmode=disable"));
    let error = cluster.run(&["plan"]).refused();
    assert!(error.contains("no encryption"), "{error}");
    cluster.edit("sslmode=disable", &format!("sslmode=verify-full&{foreign}"));
    let error = cluster.run(&["plan"]).refused();
    assert!(error.contains("certificate"), "{error}");
    cluster.edit(&foreign, &trusted);
    cluster.run(&["apply", "--yes"]).ok();
    cluster.edit("127.0.0.1", "localhost");
    let error = cluster.run(&["plan"]).refused();
    assert!(error.contains("certificate not valid for name"), "{error}");
    cluster.edit("verify-full", "verify-ca");
    cluster.run(&["plan"]).ok();
    cluster.edit(&format!("sslmode=verify-ca&{trusted}"), "");
    cluster.run(&["plan"]).ok();
}
