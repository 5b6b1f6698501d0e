package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"nova/core"
)

func parseDials(t *testing.T, args ...string) (core.Dials, error) {
	t.Helper()
	var d dialFlags
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	d.register(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return d.dials()
}

// Without a flag a daemon has the specification's dials: every default of a flag
// is that of core.Spec, and nothing else is touched.
func TestDefaultsAreTheSpecifications(t *testing.T) {
	got, err := parseDials(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(core.Spec(), got); d != "" {
		t.Errorf("the flags' defaults differ from the specification's dials:\n%s", d)
	}
}

func TestEveryDialFlagReachesItsDial(t *testing.T) {
	got, err := parseDials(t, "--auditor-read-grace=12m", "--auditor-orphan-grace=2h", "--auditor-markers-per-era=3",
		"--auditor-member-parallel=4", "--denorm-output-cap-mib=64", "--denorm-linger=1m", "--express-denorm-linger=2m",
		"--denorm-age-cap=3h", "--express-denorm-age-cap=30m")
	if err != nil {
		t.Fatal(err)
	}
	want := core.Spec()
	want.ReadGrace, want.OrphanGrace = 720_000, 7_200_000
	want.MarkersPerEra, want.MemberWidth, want.OutputCap = 3, 4, 64<<20
	want.Linger, want.AgeCap = [2]core.Ms{60_000, 120_000}, [2]core.Ms{10_800_000, 1_800_000}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDialsThatBreakAContractAreRefused(t *testing.T) {
	for _, c := range []struct{ arg, says string }{
		{"--auditor-read-grace=9m", "read-plan TTL is 300000 ms and read grace 540000 ms: the TTL must be at most half"},
		{"--auditor-read-grace=0s", "--auditor-read-grace is 0s: give a time of at least 1ms"},
		{"--auditor-orphan-grace=4m", "orphan grace is 240000 ms and must exceed the request lifetime"},
		{"--auditor-markers-per-era=0", "a width, page or batch is out of bounds"},
		{"--auditor-member-parallel=-1", "a width, page or batch is out of bounds"},
		{"--denorm-output-cap-mib=4", "output cap of 4194304 bytes does not fit between one part"},
		{"--denorm-output-cap-mib=0", "--denorm-output-cap-mib is 0"},
		{"--denorm-linger=-1s", "--denorm-linger is -1s"},
		{"--express-denorm-linger=2h", "the linger must not exceed the cap"},
		{"--denorm-age-cap=1m", "the linger must not exceed the cap"},
	} {
		if _, err := parseDials(t, c.arg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error that says %q", c.arg, err, c.says)
		}
	}
}
