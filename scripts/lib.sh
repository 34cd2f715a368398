# Sourced by the scripts beside it: where things are, and who does what.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NAME=$(basename "$0")

# PostgreSQL versions that the extension builds for, newest first.
VERSIONS="18 17 16 15"

# A shell that never logged in does not have rustup's folder on its path.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
fi

# Backtraces of a server leak into the DETAIL that its clients see.
unset RUST_BACKTRACE

say() { echo "$NAME: $*" >&2; }

# Ends with a message and, behind a blank line, what helps.
die() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '\nhint: %s\n' "$2" >&2
    exit 1
}

# Runs a command as root: directly, or by sudo.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo: $*" "run \`$*\` as root, then try again"
    fi
}

# Runs a command as root only where the folder named first is not writable.
as_owner_of() {
    local folder=$1
    shift
    if [ -w "$folder" ]; then "$@"; else as_root "$@"; fi
}

# Lets one of us at a time do what is named, until this script ends.
lock() {
    mkdir -p "$ROOT/target"
    exec 9>"$ROOT/target/$1.lock"
    flock 9
}

# The unprivileged user that servers run as when we are root, which PostgreSQL
# refuses to be.
server_user() {
    local user
    for user in postgres nobody; do
        if [ "$(id -u "$user" 2>/dev/null || echo 0)" != 0 ]; then
            echo "$user"
            return
        fi
    done
    die "there is no unprivileged user to run PostgreSQL as" "create one: useradd --system postgres"
}

# Whether the user that runs our servers may read what lies under a folder.
servers_can_read() {
    if [ "$(id -u)" = 0 ]; then
        local user
        user=$(server_user)
        setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups test -x "$1"
    else
        test -x "$1"
    fi
}

# The folder of private server trees. Under `target`, unless that lies in a
# home directory that the servers' user may not enter.
servers_folder() {
    local folder=$ROOT/target/servers
    if [ -n "${SHARDID_SERVERS:-}" ]; then
        folder=$SHARDID_SERVERS
    elif mkdir -p "$folder" && ! servers_can_read "$folder"; then
        # Only root runs servers as somebody else, so we may write here.
        folder=/var/cache/shardid/servers-$(echo "$ROOT" | cksum | cut -d' ' -f1)
    fi
    mkdir -p "$folder"
    echo "$folder"
}

# The major version of the PostgreSQL that a pg_config speaks for.
pg_major() { "$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'; }

# Whether a pg_config speaks for a supported server with its headers.
pg_usable() {
    [ -x "$1" ] || return 1
    case " $VERSIONS " in *" $(pg_major "$1") "*) ;; *) return 1 ;; esac
    [ -x "$("$1" --bindir)/postgres" ] && [ -f "$("$1" --includedir-server)/postgres.h" ]
}

# Prints the pg_config to work with: PG_CONFIG, the one on the path, or the
# newest installed. Fails without a word where there is none.
find_pg_config() {
    if [ -n "${PG_CONFIG:-}" ]; then
        command -v "$PG_CONFIG" || die "PG_CONFIG is $PG_CONFIG, which cannot be run"
        return
    fi
    local candidate version
    candidate=$(command -v pg_config || true)
    if [ -n "$candidate" ] && pg_usable "$candidate"; then
        echo "$candidate"
        return
    fi
    for version in $VERSIONS; do
        candidate=/usr/lib/postgresql/$version/bin/pg_config
        if pg_usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# As find_pg_config, but ends with a hint where there is none.
need_pg_config() {
    find_pg_config || die "no PostgreSQL with its server headers is installed" \
        "run \`make deps\`, or name one: make $NAME PG_CONFIG=/path/to/pg_config"
}
