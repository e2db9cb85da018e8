#!/usr/bin/env bash
# Installs what a build of Quadrants needs on Debian 12: missing apt packages (as root or through sudo) and .venv. Safe to repeat.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(grep -v '^#' packaging/apt.txt)
missing=()
for package in $wanted; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  root=""
  [ "$(id -u)" = 0 ] || root=sudo
  echo "installing: ${missing[*]}"
  $root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

stamp=.venv/requirements.stamp
if [ ! -f "$stamp" ] || [ packaging/requirements.txt -nt "$stamp" ]; then
  python3 -m venv .venv
  .venv/bin/pip install -q --disable-pip-version-check -r packaging/requirements.txt
  touch "$stamp"
fi
