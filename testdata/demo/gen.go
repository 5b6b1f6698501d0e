//go:build ignore

// Gen writes the texts of the demo: three logs of a harbour that never was. They
// are made of nothing but the word lists below, the same bytes every time:
//
//	go run testdata/demo/gen.go testdata/demo
package main

import (
	"bufio"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
)

var (
	ships   = []string{"Alder", "Bittern", "Corncrake", "Dunlin", "Eider", "Fulmar", "Gannet", "Heron", "Kittiwake", "Lapwing", "Merlin", "Osprey", "Petrel", "Redshank", "Skua", "Tern"}
	cargoes = []string{"barley", "slate", "rope", "lamp oil", "herring", "wool", "paper", "salt", "glass", "timber", "letters", "apples"}
	places  = []string{"the east quay", "the west quay", "the long mole", "the fish steps", "the inner basin", "the customs house"}
	winds   = []string{"north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"}
	skies   = []string{"clear", "high cloud", "broken cloud", "overcast", "drizzle", "rain", "fog on the water", "snow showers"}
	people  = []string{"the pilot", "the harbour master", "a carter", "the lamp keeper", "two boys", "the surgeon", "the clerk", "an old sailor"}
	deeds   = []string{"came down to", "waited at", "was seen at", "left word at", "mended a net at", "paid the dues at", "asked the way to", "slept through the bell at"}
)

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

func at(minute int) string {
	return fmt.Sprintf("day %03d %02d:%02d", minute/1440+1, minute/60%24, minute%60)
}

func arrivals(r *rand.Rand, minute int) string {
	verb := "in from sea with"
	if r.IntN(2) == 0 {
		verb = "out on the tide with"
	}
	return fmt.Sprintf("%s %-9s %s %d tons of %s, berth %d", at(minute), pick(r, ships), verb, 5+r.IntN(240), pick(r, cargoes), 1+r.IntN(24))
}

func weather(r *rand.Rand, minute int) string {
	return fmt.Sprintf("%s wind %s %d, %s, glass %d.%02d, water %d cm above datum", at(minute), pick(r, winds), r.IntN(11), pick(r, skies), 28+r.IntN(3), r.IntN(100), 20+r.IntN(580))
}

func watch(r *rand.Rand, minute int) string {
	return fmt.Sprintf("%s %s %s %s; %s off %s", at(minute), pick(r, people), pick(r, deeds), pick(r, places), pick(r, ships), pick(r, places))
}

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	for i, f := range []struct {
		name  string
		lines int
		line  func(*rand.Rand, int) string
	}{{"arrivals.txt", 1200, arrivals}, {"weather.txt", 1000, weather}, {"watch.txt", 1000, watch}} {
		if err := write(filepath.Join(dir, f.name), rand.New(rand.NewPCG(uint64(i), 1)), f.lines, f.line); err != nil {
			log.Fatal(err)
		}
	}
}

func write(name string, r *rand.Rand, lines int, line func(*rand.Rand, int) string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for minute := 0; lines > 0; lines-- {
		minute += 1 + r.IntN(59)
		fmt.Fprintln(w, line(r, minute))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
