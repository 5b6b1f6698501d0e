package embedded

import (
	"errors"
	"fmt"
	"os"

	"github.com/pkg/xattr"
	"github.com/versity/versitygw/backend/meta"
)

// sideCarDir decides where the gateway keeps object metadata: "" for extended
// attributes, else the directory for side-car files. A side-car directory that
// exists wins, since objects written with it have no attributes. Called by Start
// and by StartVersityProcess, once c.s3Dir exists.
func sideCarDir(c Config) (string, error) {
	dir := c.metaDir()
	_, err := os.Stat(dir)
	if err == nil {
		return dir, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("look for side-car directory %s: %w", dir, err)
	}
	if !c.SideCar && xattrsWork(c.s3Dir()) {
		return "", nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("create side-car directory %s: %w", dir, err)
	}
	return dir, nil
}

// xattrsWork reports whether a file in dir can be given a user attribute. It
// tries, because some file systems answer a read and refuse the write.
func xattrsWork(dir string) bool {
	f, err := os.CreateTemp(dir, ".xattr-probe-")
	if err != nil {
		return false
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	return xattr.FSet(f, "user.nova.probe", make([]byte, 256)) == nil
}

// metadataStore opens the gateway's metadata store: attributes for "", else
// side-car files under dir.
func metadataStore(dir string) (meta.MetadataStorer, error) {
	if dir == "" {
		return meta.XattrMeta{}, nil
	}
	sc, err := meta.NewSideCar(dir)
	if err != nil {
		return nil, fmt.Errorf("open side-car directory %s: %w", dir, err)
	}
	return sc, nil
}
