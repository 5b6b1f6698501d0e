#!/bin/sh
# Runs the conformance suite against SeaweedFS. For soaks: its first build takes
# half an hour. Set WEED to a binary of your own to skip that.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nova-servers
weed=${WEED:-$cache/weed}

if [ ! -x "$weed" ]; then
	mkdir -p "$cache"
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
	(
		# A module of its own: its dependencies are not Nova's business. One of
		# them is no longer at its address.
		cd "$build"
		"$GO" mod init soak
		"$GO" mod edit -replace github.com/tyler-smith/go-bip39=github.com/cosmos/go-bip39@v1.0.0
		"$GO" get github.com/seaweedfs/seaweedfs/weed@latest
		GOBIN=$cache "$GO" install github.com/seaweedfs/seaweedfs/weed
	)
	rm -rf "$build"
fi

dir=$(mktemp -d)
port=${NOVA_S3_PORT:-18333}
export AWS_ACCESS_KEY_ID=nova AWS_SECRET_ACCESS_KEY=nova-soak-secret
"$weed" mini -dir="$dir" -ip=127.0.0.1 -s3.port="$port" >"$dir.log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null || true; rm -rf "$dir"' EXIT

url=http://127.0.0.1:$port
tries=0
until curl -s -o /dev/null "$url"; do
	tries=$((tries + 1))
	if [ $tries -gt 120 ] || ! kill -0 $pid 2>/dev/null; then
		echo "SeaweedFS does not answer at $url; its log is $dir.log:" >&2
		tail -20 "$dir.log" >&2
		exit 1
	fi
	sleep 0.5
done

NOVA_S3_URL=$url NOVA_S3_ACCESS=$AWS_ACCESS_KEY_ID NOVA_S3_SECRET=$AWS_SECRET_ACCESS_KEY \
	"$GO" test -count=1 -run 'TestServerConforms' -v ./scenarios
rm -f "$dir.log"
