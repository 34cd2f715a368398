# Sourced by the scripts that fetch servers: packages of a Debian suite, unpacked
# into a folder of our own. The system is left alone.
# shellcheck shell=bash

SUITE_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# How long each step of a fetch may take. A mirror that is slower than that is one
# that cannot be had.
SUITE_SECONDS_MAX=300

# The Debian mirror that this machine already uses, if it is a Debian.
suite_mirror() {
    local found
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -nE 's/^(URIs:|deb)( .*)? (https?:\/\/[^ ]*\/debian)\/?( .*)?$/\3/p' || true)
    echo "${found:-http://deb.debian.org/debian}" | head -n 1
}

# What keeps us from fetching at all; nothing where nothing does.
suite_lacks() {
    local program
    [ -f "$SUITE_KEYS" ] || echo "it takes the package debian-archive-keyring"
    for program in apt-get dpkg "$@"; do
        command -v "$program" >/dev/null || echo "it takes $program"
    done | head -n 1
}

# Unpacks packages of a suite, with all that they need, into a folder:
#
#     suite_fetch SUITE FOLDER PACKAGE… [-- PACKAGE-WITHOUT-ITS-NEEDS…]
suite_fetch() {
    local suite=$1 folder=$2 apt package
    shift 2
    apt=(-q -o Dir::State="$folder.apt/state" -o Dir::Cache="$folder.apt/cache" -o Dir::Etc="$folder.apt/etc"
        -o Dir::State::status="$folder.apt/status" -o Acquire::Check-Valid-Until=false
        -o APT::Sandbox::User= -o APT::Install-Recommends=false -o Debug::NoLocking=true)
    rm -rf "$folder" "$folder.apt"
    mkdir -p "$folder" "$folder.apt"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d}
    : >"$folder.apt/status"
    echo "deb [signed-by=$SUITE_KEYS] $(suite_mirror) $suite main" >"$folder.apt/etc/sources.list"
    timeout "$SUITE_SECONDS_MAX" apt-get "${apt[@]}" update || return
    local whole=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        whole+=("$1")
        shift
    done
    timeout "$SUITE_SECONDS_MAX" apt-get "${apt[@]}" -y -d install "${whole[@]}" || return
    if [ "${1:-}" = -- ]; then
        shift
        (cd "$folder.apt/cache/archives" &&
            timeout "$SUITE_SECONDS_MAX" apt-get "${apt[@]}" download "$@") || return
    fi
    for package in "$folder.apt"/cache/archives/*.deb; do
        dpkg -x "$package" "$folder" || return
    done
    rm -rf "$folder.apt"
}

# Why the last fetch failed, from its log.
suite_complaint() {
    grep -E '^(E|W):' "$1" | tail -n 1 | grep . || echo "it took too long"
}
