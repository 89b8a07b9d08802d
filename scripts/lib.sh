# Shared by the scripts beside it: messages, questions, packages, builds. Sourced, never run.
# Called by scripts/setup, run, test, fetch-model, tidy and .ci/run. Read next: scripts/setup.
# shellcheck shell=bash

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
yes=0
offline=0
rest=()

# say TEXT: one line for the person, on stderr (stdout belongs to answers and results).
say() { printf '%s\n' "$*" >&2; }

# die TEXT [STATUS]: the error and the end; status 1 = failed, 2 = wrong usage.
die() {
  say "$(basename "$0"): $1"
  exit "${2:-1}"
}

# show_usage: prints the comment block at the head of the running script.
show_usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; }

# read_flags "$@": sets yes and offline, leaves everything from the first other word on in rest.
read_flags() {
  while [ $# -gt 0 ]; do
    case "$1" in
      -y | --yes) yes=1 ;;
      --offline) offline=1 ;;
      -h | --help) show_usage && exit 0 ;;
      --) shift && break ;;
      -*) die "unknown flag '$1'; --help lists the flags" 2 ;;
      *) break ;;
    esac
    shift
  done
  rest=("$@")
}

# refuse_rest: for scripts that take flags only.
refuse_rest() { [ ${#rest[@]} -eq 0 ] || die "unexpected argument '${rest[0]}'; see --help" 2; }

# flags: the flags to hand on to another script.
flags() {
  [ "$yes" = 0 ] || printf '%s\n' -y
  [ "$offline" = 0 ] || printf '%s\n' --offline
}

# call SCRIPT: runs a script of this folder with the same flags.
call() {
  local given
  mapfile -t given < <(flags)
  "$root/scripts/$1" "${given[@]}"
}

# confirm WHAT: says WHAT, then asks where a person can answer. With -y, or with no terminal to ask
# on (then the call itself was the yes), it goes on.
confirm() {
  say "$1"
  if [ "$yes" = 1 ] || ! [ -t 0 ] || ! [ -t 2 ]; then return 0; fi
  local answer
  read -r -p "Go on? [Y/n] " answer || answer=n
  case "$answer" in
    '' | [yY]*) ;;
    *) die "stopped; nothing was changed" ;;
  esac
}

# can_be_root: true for root, and where sudo is there and either may ask for a password or needs none.
can_be_root() {
  [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { [ -t 2 ] || sudo -n true 2>/dev/null; }; }
}

# as_root COMMAND...: runs it as root; what it prints goes to stderr.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@" </dev/null >&2; else sudo "$@" >&2; fi
}

# missing_packages NAME...: prints those that dpkg does not have installed.
missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# apt_figures NAME...: apt's own figures for an installation, joined to one line; fails where apt
# does not know a package.
apt_figures() {
  # --assume-no ends with status 1, so what was printed decides.
  { LC_ALL=C apt-get install --assume-no --no-install-recommends -o Debug::NoLocking=1 "$@" \
    </dev/null 2>/dev/null || true; } |
    awk '/^(Need to get|After this)/ { out = out " " $0 }
      END { if (out == "") exit 1; print substr(out, 2) }'
}

# install_packages NAME...: installs the missing ones by apt-get, after it said which and how large.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system, so nothing is installed. Needed are what Debian calls: $*"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$offline" = 0 ] || die "--offline, but these packages are not installed: ${missing[*]}"
  if ! can_be_root; then
    say "Installing packages needs root, and sudo cannot be used here. Run this line as root, then try again:"
    say "    apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    exit 1
  fi
  if ! apt_figures "${missing[@]}" >/dev/null; then
    confirm "apt's package lists are missing or old; fetching them first (about 10 MB)."
    as_root apt-get -q update
  fi
  local figures
  figures=$(apt_figures "${missing[@]}") || die "apt cannot install: ${missing[*]}
Is this Debian 12 or newer? 'apt-get install ${missing[*]}' tells more."
  confirm "Installing these Debian packages: ${missing[*]}
$figures"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
    "${missing[@]}"
}

# build PRESET [TARGET...]: configures once, then builds; quiet when there is nothing to do.
build() {
  local preset=$1 targets=()
  shift
  [ $# -eq 0 ] || targets=(--target "$@")
  cd "$root"
  [ "build/$preset/build.ninja" -nt CMakePresets.json ] || cmake --preset "$preset" </dev/null >&2
  cmake --build --preset "$preset" "${targets[@]}" </dev/null |
    { grep -v -e '^ninja: no work to do' -e 'Re-checking globbed directories' \
      -e '-P .*/cmake/commit\.cmake$' >&2 || true; }
}
