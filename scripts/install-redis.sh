#!/bin/sh
# Installs redis-server and redis-cli on Debian, as root, and leaves no service behind: the tests
# start their own servers, and a system service would take port 6379 and memory for nothing.
set -eu
export DEBIAN_FRONTEND=noninteractive

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  # 101 forbids package scripts to start services (see invoke-rc.d(8)).
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

# An unreachable extra source must not stop us when the main archive answers.
apt-get update >&2 || true
apt-get install -y --no-install-recommends redis-server redis-tools >&2

if [ -d /run/systemd/system ]; then
  systemctl disable redis-server >&2 || true
else
  update-rc.d redis-server disable >&2 || true
fi
