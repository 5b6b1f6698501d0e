// Package embedded runs the two stores that Nova needs, an etcd server and an
// S3 gateway over a plain directory, so that `nova demo` and `nova dev` work
// with nothing installed. Start serves both inside the calling process;
// StartEtcdProcess and StartVersityProcess run the same servers as processes of
// their own, for tests that kill them.
//
// # What a directory holds
//
//	{dir}/nova.lock     flocked by the process that serves the directory
//	{dir}/etcd          the etcd member
//	{dir}/s3/{bucket}   the objects, each a file
//	{dir}/objmeta       their metadata, where the file system has no user xattrs
//
// # Durability
//
// A killed process loses nothing that was acknowledged, and the directory
// starts again as it is: the lock goes with the process, and repair undoes the
// one thing that the gateway leaves half done. A power cut may lose recent
// objects, because the gateway does not fsync. The stack is for trying Nova out
// and for tests, not for data that has no other copy.
//
// # Two limits of the gateway
//
// It reaches its files through the working directory of the process. From Start
// to Close that directory is {dir}/s3, whatever the caller's was, and nobody may
// call os.Chdir meanwhile. Make relative paths absolute before Start, or resolve
// them with Stack.Path afterwards. Close goes back to the caller's directory.
//
// One gateway fits in a process: a second Start is refused until the first
// stack is closed.
package embedded
