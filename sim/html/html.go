package html

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"

	"nova/sim"
)

//go:embed page.html
var page string

//go:embed page.css
var css string

//go:embed page.js
var js string

var tmpl = template.Must(template.New("page").Parse(page))

// Page makes the page of a run's data.
func Page(d *Data) ([]byte, error) {
	// In an island nothing may end the element: the encoder escapes <, > and &.
	island, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("the page's data: %w", err)
	}
	var b bytes.Buffer
	err = tmpl.Execute(&b, struct {
		Title string
		CSS   template.CSS
		JS    template.JS
		Data  template.JS
	}{"Nova: " + d.Title, template.CSS(css), template.JS(js), template.JS(island)})
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	return b.Bytes(), nil
}

// Write runs a record again and writes its page.
func Write(path string, rec *sim.Record, scene func(*sim.Sim)) error {
	b, err := Page(Make(rec, scene))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
