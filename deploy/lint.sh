#!/bin/sh
# Lint the deployment files and the scripts. Missing linters are reported as skipped; any finding fails the run.
# shellcheck disable=SC2317,SC2329 # check calls its arguments
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
verify_unit() { # verify_unit FILE
    folder=$(mktemp -d) || return 1
    sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$1" >"$folder/${1##*/}"
    said=$(systemd-analyze verify --man=no "$folder/${1##*/}" 2>&1)
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

for file in deploy/compose.yaml deploy/compose.cluster.yaml deploy/compose.standby.yaml; do
    if docker compose version >/dev/null 2>&1; then
        check "$file" docker compose -f "$file" config --quiet
    elif has docker-compose; then
        check "$file" docker-compose -f "$file" config --quiet
    else
        skip "$file" "docker compose"
    fi
done

for file in deploy/podium.service deploy/podium-node.service; do
    if has systemd-analyze; then
        check "$file" verify_unit "$file"
    else
        skip "$file" systemd-analyze
    fi
done

if has shellcheck; then
    check "shell scripts" shellcheck .ci/run deploy/lint.sh deploy/slurm.sbatch
else
    skip "shell scripts" shellcheck
fi

# The chart, sky.yaml and the scripts in YAML files.
if python3 -c 'import helm_python, kubernetes_validate' 2>/dev/null; then
    check "deploy/helm, deploy/sky.yaml" python3 .ci/check_deploy.py
else
    skip "deploy/helm, deploy/sky.yaml" helm-python-sdk
fi

exit "$failed"
