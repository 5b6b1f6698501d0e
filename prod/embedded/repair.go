package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
)

// The gateway's names for what it keeps of an unfinished upload. It does not
// export them; the tests cut uploads to see that they still hold.
const (
	inProgressSuffix = ".inprogress"
	objectNameAttr   = "objname"
	multipartAttr    = "mp-metadata"
)

// repair undoes what a gateway that was killed leaves behind in root, before a
// new one serves it. sideCar is where its metadata is, as sideCarDir says.
//
// While CompleteMultipartUpload runs, the upload's directory carries another
// name. Killed then, the gateway would ever after list no such upload and refuse
// to abort it, and answer a repeated complete with success although no object
// exists. So the directory gets its name back; or it goes, when the object had
// already appeared. Files straight under the temporary directory are bodies of
// PUTs that never finished.
//
// It is idempotent, and must run with no gateway on root.
func repair(root, sideCar string) error {
	store, err := metadataStore(sideCar)
	if err != nil {
		return err
	}
	bodies, err := fs.Glob(os.DirFS(root), "*/"+posix.MetaTmpDir+"/*")
	if err != nil {
		return fmt.Errorf("look for unfinished writes under %s: %w", root, err)
	}
	for _, rel := range bodies {
		name := filepath.Join(root, rel)
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove the unfinished write %s: %w", name, err)
		}
	}
	claims, err := fs.Glob(os.DirFS(root), "*/"+posix.MetaTmpMultipartDir+"/*/*"+inProgressSuffix)
	if err != nil {
		return fmt.Errorf("look for interrupted uploads under %s: %w", root, err)
	}
	for _, rel := range claims {
		if err := newCutUpload(root, rel, sideCar).settle(store); err != nil {
			return fmt.Errorf("repair the interrupted upload %s in %s: %w", rel, root, err)
		}
	}
	return nil
}

// cutUpload is an upload whose completion was cut.
type cutUpload struct {
	path   string // of its directory, under the name it was claimed by
	meta   string // of its side-car directory, "" without one
	bucket string // as the metadata store wants it
	uploads,
	claimed, id string // inside the bucket: the key's directory, and the upload's two names
}

// newCutUpload takes apart the path of a claimed upload relative to root:
// {bucket}/.sgwtmp/multipart/{hash of the key}/{id}.{etag}.inprogress.
func newCutUpload(root, rel, sideCar string) cutUpload {
	bucket, object, _ := strings.Cut(rel, "/")
	id, _, _ := strings.Cut(filepath.Base(object), ".")
	u := cutUpload{
		path:    filepath.Join(root, rel),
		bucket:  bucket,
		uploads: filepath.Dir(object),
		claimed: object,
		id:      id,
	}
	if sideCar == "" { // attributes are found by path, side-cars by name
		u.bucket = filepath.Join(root, bucket)
	} else {
		u.meta = filepath.Join(sideCar, rel)
	}
	return u
}

// settle gives the upload its name back, or removes it if its object is there.
func (u cutUpload) settle(store meta.MetadataStorer) error {
	landed, err := u.landed(store)
	if err != nil {
		return err
	}
	if !landed {
		if err := store.RenameObject(u.bucket, u.claimed, filepath.Join(u.uploads, u.id)); err != nil {
			return err
		}
		return os.Rename(u.path, filepath.Join(filepath.Dir(u.path), u.id))
	}
	if err := os.RemoveAll(u.path); err != nil {
		return err
	}
	if u.meta != "" { // the store's own deletion would leave the parts' side-cars
		if err := os.RemoveAll(u.meta); err != nil {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(u.path)) // stays while other uploads of the key are in it
	return nil
}

// landed reports whether the upload's key holds the object that it made: the
// gateway writes the upload's id on what it completes.
func (u cutUpload) landed(store meta.MetadataStorer) (bool, error) {
	key, err := store.RetrieveAttribute(nil, u.bucket, u.uploads, objectNameAttr)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the upload's key: %w", err)
	}
	value, err := store.RetrieveAttribute(nil, u.bucket, string(key), multipartAttr)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the metadata of %s: %w", key, err)
	}
	made, err := backend.UnmarshalMpUploadMetadata(value, false)
	if err != nil {
		return false, fmt.Errorf("decode the metadata of %s: %w", key, err)
	}
	return made.UploadID == u.id, nil
}

// absent reports whether err says that the file or its attribute is not there.
func absent(err error) bool {
	return errors.Is(err, meta.ErrNoSuchKey) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
