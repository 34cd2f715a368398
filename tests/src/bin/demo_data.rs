//! Rows for `make demo`: users, their photos, and likes, as files for psql.
//!
//! The same seed gives the same rows. Each file is one transaction that fills
//! the shards of one node by COPY and notes that it has been loaded, so that a
//! file whose load was cut by a crash is simply loaded again.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shardid_tests::rand::rngs::StdRng;
use shardid_tests::rand::seq::{IndexedRandom, SliceRandom};
use shardid_tests::rand::{Rng, SeedableRng};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Makes rows for the demo, the same ones for the same seed
#[derive(Parser)]
#[command(name = "demo_data")]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The map of shards, as `shardid map --format csv` prints it
    #[arg(long, global = true, default_value = "rows/map.csv")]
    map: PathBuf,
    /// Folder for the files, one below it for each node
    #[arg(long, global = true, default_value = "rows")]
    out: PathBuf,
    #[arg(long, global = true, default_value_t = 2026)]
    seed: u64,
}

#[derive(Subcommand)]
enum What {
    /// People, each on the shard that the hash of the name chooses
    Users {
        #[arg(long, default_value_t = 5_000)]
        count: usize,
        /// Take the names from the column `user` of this file instead
        #[arg(long)]
        csv: Option<PathBuf>,
    },
    /// Photos, on the shards of their users
    Photos {
        /// Lines `id,name` of the users that were loaded
        #[arg(long)]
        users: PathBuf,
        #[arg(long, default_value_t = 45_000)]
        count: usize,
        /// Take the columns `user` and `caption` (and `width`, `height`) of this
        /// file instead
        #[arg(long)]
        csv: Option<PathBuf>,
    },
    /// Likes, on the shards of the photos
    Likes {
        #[arg(long)]
        users: PathBuf,
        /// Lines `shard,id` of the photos that were loaded
        #[arg(long)]
        photos: PathBuf,
        #[arg(long, default_value_t = 170_000)]
        count: usize,
    },
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(rows) => {
            println!("{rows}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the files and returns how many rows are in them.
fn run(arguments: &Arguments) -> Result<usize> {
    let nodes: BTreeMap<u64, String> = read(&arguments.map)?
        .into_iter()
        .map(|line| Ok((field(&line, 0)?.parse()?, field(&line, 1)?.to_owned())))
        .collect::<Result<_>>()?;
    let mut rng = StdRng::seed_from_u64(arguments.seed);
    let mut rows = Rows::new(nodes);
    match &arguments.what {
        What::Users { count, csv } => {
            let names = match csv {
                Some(file) => photos_of(file)?.into_iter().map(|photo| photo.user).collect(),
                None => (0..*count).map(|number| name(&mut rng, number)).collect::<Vec<_>>(),
            };
            let mut known = HashSet::new();
            for name in names {
                if known.insert(name.clone()) {
                    rows.add(rows.home_of(&name), &[&name]);
                }
            }
            rows.write(&arguments.out, "users", "name", 1)
        }
        What::Photos { users, count, csv } => {
            let mut users = pairs(users)?;
            users.shuffle(&mut rng);
            let photos = match csv {
                Some(file) => photos_of(file)?,
                None => (0..*count).map(|_| photo(&mut rng, &users)).collect(),
            };
            let ids: BTreeMap<&str, &str> =
                users.iter().map(|(id, name)| (name.as_str(), id.as_str())).collect();
            for photo in photos {
                let user = ids.get(photo.user.as_str()).ok_or("a photo of nobody")?;
                let columns = [user, &*photo.caption, &*photo.width, &*photo.height];
                rows.add(rows.home_of(&photo.user), &columns);
            }
            rows.write(&arguments.out, "photos", "user_id, caption, width, height", 10)
        }
        What::Likes { users, photos, count } => {
            let (users, mut photos) = (pairs(users)?, pairs(photos)?);
            // They come shard by shard, and no shard is to have all popular ones.
            photos.shuffle(&mut rng);
            for _ in 0..*count {
                let (shard, photo) = popular(&mut rng, &photos);
                let (user, _) = users.choose(&mut rng).ok_or("there are no users")?;
                rows.add(shard.parse()?, &[photo, user]);
            }
            rows.write(&arguments.out, "likes", "photo_id, user_id", 12)
        }
    }
}

/// Lines by shard, in the order in which they were added.
struct Rows {
    nodes: BTreeMap<u64, String>,
    lines: BTreeMap<u64, Vec<Vec<u8>>>,
}

impl Rows {
    fn new(nodes: BTreeMap<u64, String>) -> Self {
        Self { nodes, lines: BTreeMap::new() }
    }

    /// The shard of a user: the application's own rule, here a hash of the name.
    fn home_of(&self, name: &str) -> u64 {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        hash % self.nodes.len() as u64
    }

    fn add(&mut self, shard: u64, columns: &[&str]) {
        let mut line = csv::WriterBuilder::new().from_writer(Vec::new());
        line.write_record(columns).expect("memory takes it");
        self.lines.entry(shard).or_default().push(line.into_inner().expect("memory takes it"));
    }

    /// Writes `rounds` files for each node: in every one some rows of each shard,
    /// as they come in over time.
    fn write(&self, out: &Path, table: &str, columns: &str, rounds: usize) -> Result<usize> {
        let nodes: HashSet<&String> = self.nodes.values().collect();
        for node in nodes {
            fs::create_dir_all(out.join(node))?;
            for round in 0..rounds {
                let name = format!("{table}-{:02}", round + 1);
                let file = out.join(node).join(format!("{name}.sql"));
                fs::write(file, self.file(node, &name, table, columns, round, rounds))?;
            }
        }
        Ok(self.lines.values().map(Vec::len).sum())
    }

    fn file(
        &self,
        node: &str,
        name: &str,
        table: &str,
        columns: &str,
        round: usize,
        rounds: usize,
    ) -> Vec<u8> {
        let mut text = format!(
            "SELECT EXISTS (SELECT FROM loaded WHERE file = '{name}') AS done \\gset\n\
             \\if :done\n\\quit\n\\endif\nBEGIN;\n"
        )
        .into_bytes();
        for (shard, lines) in &self.lines {
            if self.nodes[shard] != node {
                continue;
            }
            let of_round = lines.len() * round / rounds..lines.len() * (round + 1) / rounds;
            let copy =
                format!("COPY shard_{shard:04}.{table} ({columns}) FROM STDIN (FORMAT csv);\n");
            text.extend(copy.into_bytes());
            text.extend(lines[of_round].concat());
            text.extend(b"\\.\n");
        }
        text.extend(format!("INSERT INTO loaded VALUES ('{name}');\nCOMMIT;\n").into_bytes());
        text
    }
}

/// A photo whose user is known by name.
struct Photo {
    user: String,
    caption: String,
    width: String,
    height: String,
}

const FIRST: &str = "Ada Aisha Alan Amara Anita Bruno Carlos Chen Chloe Dana Deniz Elif Emil Esra \
    Fatima Finn Grace Hana Hugo Ines Ivan Jack Jana Kaito Kofi Lara Leo Lin Luis Maja Malik Mei \
    Milan Nadia Nils Nora Omar Paula Priya Ravi Rosa Sara Sofia Tariq Theo Uma Vera Yara Yuki Zoe";
const LAST: &str = "ahmed bauer brown chen costa diaz evans fischer garcia haddad hansen ito \
    jansen kaya khan kim klein kumar lopez meyer mori moreau nakamura novak okafor olsen patel \
    petrov rossi sato schmidt silva singh smith suzuki tanaka torres wang weber yilmaz";
const MOODS: &str = "golden quiet first last endless rainy sunny early late foggy perfect lazy \
    windy frozen wild hidden";
const THINGS: &str = "morning sunset coffee beach mountain bridge market garden street window \
    forest harbour train breakfast concert museum snow river skyline dog cat bicycle kitchen \
    rooftop lighthouse";
const PLACES: &str = "Lisbon Osaka Berlin Accra Istanbul Lima Oslo Mumbai Porto Cairo Seoul \
    Naples Quito Hanoi Cusco Bergen";
const SIZES: [(&str, &str); 5] =
    [("1080", "1080"), ("1080", "1350"), ("1080", "566"), ("4032", "3024"), ("3024", "4032")];

fn word(rng: &mut StdRng, words: &'static str) -> &'static str {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.choose(rng).expect("no list is empty")
}

fn name(rng: &mut StdRng, number: usize) -> String {
    format!("{}.{}{number}", word(rng, FIRST).to_lowercase(), word(rng, LAST))
}

fn photo(rng: &mut StdRng, users: &[(String, String)]) -> Photo {
    let mut caption = format!("{} {}", word(rng, MOODS), word(rng, THINGS));
    if rng.random_bool(0.6) {
        caption = format!("{caption} in {}", word(rng, PLACES));
    }
    if rng.random_bool(0.3) {
        caption = format!("{caption}, with @{}", popular(rng, users).1);
    }
    if rng.random_bool(0.1) {
        caption.push_str(" \"no filter\"");
    }
    let (width, height) = *SIZES.choose(rng).expect("it has five");
    let user = popular(rng, users).1.clone();
    Photo { user, caption, width: width.into(), height: height.into() }
}

/// One of many, of which few are popular and most are not.
fn popular<'a, T>(rng: &mut StdRng, all: &'a [T]) -> &'a T {
    let part: f64 = rng.random::<f64>().powi(2);
    &all[((all.len() as f64 * part) as usize).min(all.len() - 1)]
}

/// The photos of a user's own file.
fn photos_of(file: &Path) -> Result<Vec<Photo>> {
    let mut reader = csv::Reader::from_path(file)
        .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let header = reader.headers()?.clone();
    let find = |name: &str| header.iter().position(|column| column == name);
    let (Some(user), Some(caption)) = (find("user"), find("caption")) else {
        return Err(format!("{} needs the columns user and caption", file.display()).into());
    };
    let (width, height) = (find("width"), find("height"));
    let mut photos = Vec::new();
    for record in reader.into_records() {
        let record = record?;
        let optional = |column: Option<usize>| {
            column.and_then(|at| record.get(at)).unwrap_or("1080").to_owned()
        };
        photos.push(Photo {
            user: field(&record, user)?.to_owned(),
            caption: field(&record, caption)?.to_owned(),
            width: optional(width),
            height: optional(height),
        });
    }
    if photos.is_empty() {
        return Err(format!("{} has no rows", file.display()).into());
    }
    Ok(photos)
}

/// The records of a file with a header.
fn read(file: &Path) -> Result<Vec<csv::StringRecord>> {
    let reader = csv::Reader::from_path(file)
        .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(reader.into_records().collect::<std::result::Result<_, _>>()?)
}

/// The first two columns of a file with a header.
fn pairs(file: &Path) -> Result<Vec<(String, String)>> {
    let pairs: Vec<(String, String)> = read(file)?
        .iter()
        .map(|line| Ok((field(line, 0)?.to_owned(), field(line, 1)?.to_owned())))
        .collect::<Result<_>>()?;
    if pairs.is_empty() {
        return Err(format!("{} has no rows", file.display()).into());
    }
    Ok(pairs)
}

fn field(record: &csv::StringRecord, at: usize) -> Result<&str> {
    record.get(at).ok_or_else(|| format!("a line has fewer than {} columns", at + 1).into())
}
