# Waits for the end of the test program, then ends its servers and removes its
# folder ($1). The program holds the other end of our standard input, which the
# kernel closes however the program ends.
trap '' INT TERM HUP QUIT
cat >/dev/null

# Sends a signal to the processes in our folder; fails when there are none.
# Those of a server stay in its data folder.
signal() {
    left=
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in
        "$folder"/*) left="$left ${process#/proc/}" ;;
        esac
    done
    # A word for each.
    # shellcheck disable=SC2086
    [ -n "$left" ] && kill "-$1" $left
}

# At first only the postmasters, which then end their backends and give back
# their shared memory; what is left after a while is killed.
folder=$1
for file in "$folder"/*/data/postmaster.pid; do
    if read -r pid <"$file" && [ "$(readlink "/proc/$pid/cwd")" = "${file%/*}" ]; then
        kill -QUIT "$pid"
    fi
done
for _ in $(seq 50); do
    signal 0 || break
    sleep 0.1
done
for _ in $(seq 50); do
    signal KILL || break
    sleep 0.1
done
for file in "$folder"/*/data/postmaster.pid; do
    id=$(awk 'NR == 7 { print $2 }' "$file")
    [ -z "$id" ] || ipcrm -m "$id"
done
rm -rf "$folder"
