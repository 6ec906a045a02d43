#!/bin/sh
# Lint the deployment files and the scripts. Missing linters are reported as skipped; any finding fails the run.
# shellcheck disable=SC2317 # check calls its arguments
set -u

cd "$(dirname "$0")/.." || exit 1
failed=0

check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@"; then
        echo "lint: $name: passed"
    else
        echo "lint: $name: FAILED" >&2
        failed=1
    fi
}

skip() {
    echo "lint: $1: SKIPPED, $2 is not installed"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# systemd-analyze looks for the command of the unit, which is installed only on the machine that runs it.
verify_unit() {
    folder=$(mktemp -d) || return 1
    sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' deploy/podium.service >"$folder/podium.service"
    said=$(systemd-analyze verify --man=no "$folder/podium.service" 2>&1)
    status=$?
    rm -rf "$folder"
    # It also reports other units of the machine, which are ignored.
    said=$(printf '%s\n' "$said" | grep -F podium)
    [ -z "$said" ] || printf '%s\n' "$said" >&2
    [ -z "$said" ] && [ "$status" -eq 0 ]
}

if has hadolint; then
    check deploy/Dockerfile hadolint deploy/Dockerfile
else
    skip deploy/Dockerfile hadolint
fi

if docker compose version >/dev/null 2>&1; then
    check deploy/compose.yaml docker compose -f deploy/compose.yaml config --quiet
elif has docker-compose; then
    check deploy/compose.yaml docker-compose -f deploy/compose.yaml config --quiet
else
    skip deploy/compose.yaml "docker compose"
fi

if has systemd-analyze; then
    check deploy/podium.service verify_unit
else
    skip deploy/podium.service systemd-analyze
fi

if has shellcheck; then
    check "shell scripts" shellcheck .ci/run deploy/lint.sh
else
    skip "shell scripts" shellcheck
fi

exit "$failed"
