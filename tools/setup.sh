#!/bin/sh
# Prepares what pip cannot, one part a call: venv, chromium, firefox or frontend.
# Usage: tools/setup.sh venv PYTHON FOLDER | chromium | firefox | frontend
set -eu

say() { printf '%s\n' "$*"; }

# Installs Debian packages where this user may; returns 1 where not.
debian() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then as=""
    elif sudo -n true 2>/dev/null; then as="sudo -n"
    else return 1
    fi
    $as apt-get update -qq >/dev/null && $as env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

set_up_venv() {
    python=$1 folder=$2
    command -v "$python" >/dev/null 2>&1 || { say "No '$python' here. Name a Python 3.11 to 3.13: make PYTHON=/path/to/python3"; exit 1; }
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
        say "$("$python" --version) does not fit: TensorFlow and graphsurgeon need 3.11 to 3.13. Name one: make PYTHON=/path/to/python3"
        exit 1
    }
    "$python" -c 'import ensurepip' 2>/dev/null || {
        # Debian packs venv apart from Python
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        debian "$package" || { say "This Python cannot make virtual environments. Install it first: sudo apt-get install $package"; exit 1; }
    }
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check --upgrade pip
}

set_up_chromium() {
    [ -n "${GRAPHSURGEON_CHROMIUM:-}" ] && return
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    say "Installing Chromium for the browser tests."
    debian chromium fonts-liberation || say "No Chromium: the browser tests cannot run. Install it: sudo apt-get install chromium"
}

set_up_firefox() {
    [ -n "${GRAPHSURGEON_FIREFOX:-}" ] && return
    for name in firefox-esr firefox; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    say "Installing Firefox for the browser tests of the deep tier."
    debian firefox-esr || say "No Firefox: its tests cannot run. Install it: sudo apt-get install firefox-esr"
}

set_up_frontend() {
    cd "$(dirname "$0")/../graphsurgeon/ui/frontend"
    [ -f package-lock.json ] || return 0
    command -v npm >/dev/null 2>&1 || {
        say "Installing Node for the tests of the front end."
        debian nodejs npm || { say "No npm: the front end is neither rebuilt nor tested. Install it: sudo apt-get install nodejs npm"; return 0; }
    }
    [ node_modules/.graphsurgeon -nt package-lock.json ] && return
    npm ci --silent --no-audit --no-fund
    touch node_modules/.graphsurgeon
}

part=$1
shift
"set_up_$part" "$@"
