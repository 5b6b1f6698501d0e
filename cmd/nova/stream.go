package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nova/prod/client"
)

const defaultServer = "127.0.0.1:7070"

// newStream is the client: it speaks to a star over HTTP.
func newStream() *cobra.Command {
	s := &streamCommand{}
	c := &cobra.Command{
		Use:   "stream",
		Short: "Create, list, append to, read, trim and delete streams",
		Long: `A client of a star (nova star, nova dev).

Append reads lines from standard input, each a record; read writes records to
standard output, a line each, or with --json a JSON object each.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&s.server, "server", defaultServer, "address of the star")
	c.PersistentFlags().StringVarP(&s.bucket, "bucket", "b", client.DefaultBucket, "namespace of the stream")
	c.AddCommand(s.create(), s.list(), s.append(), s.read(), s.trim(), s.remove())
	return c
}

type streamCommand struct {
	server, bucket string
}

// verb makes one verb of the client.
func (s *streamCommand) verb(use, short string, n int, run func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args(cobra.ExactArgs(n)),
		RunE: action(func(ctx context.Context, c *cobra.Command, given []string) error {
			cl, err := client.New(s.server)
			if err != nil {
				return usage(c, err)
			}
			return run(ctx, c, cl, given)
		}),
	}
}

func (s *streamCommand) create() *cobra.Command {
	var class string
	var maxAge time.Duration
	c := s.verb("create NAME", "Create a stream", 1, func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error {
		st, err := cl.Create(ctx, client.Stream{Bucket: s.bucket, Name: given[0], Class: class, MaxAgeMs: maxAge.Milliseconds()})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "created %s/%s, stream %d\n", st.Bucket, st.Name, st.ID)
		return nil
	})
	c.Flags().StringVar(&class, "class", "standard", "storage class of its chain: standard or express")
	c.Flags().DurationVar(&maxAge, "max-age", 0, "drop records older than this (0: keep them)")
	return c
}

func (s *streamCommand) list() *cobra.Command {
	var asJSON, all bool
	c := s.verb("ls", "List streams", 0, func(ctx context.Context, c *cobra.Command, cl *client.Client, _ []string) error {
		bucket := s.bucket
		if all {
			bucket = ""
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		e := json.NewEncoder(c.OutOrStdout())
		if !asJSON {
			fmt.Fprintln(w, "STREAM\tID\tCLASS\tFIRST\tEND\tBORN\tSTAR")
		}
		err := cl.Streams(ctx, bucket, func(st client.Stream) error {
			if asJSON {
				return e.Encode(st)
			}
			born := time.UnixMilli(st.BornMs).UTC().Format(time.RFC3339)
			_, err := fmt.Fprintf(w, "%s/%s\t%d\t%s\t%d\t%d\t%s\t%s\n", st.Bucket, st.Name, st.ID, st.Class, st.First, st.End, born, st.Star)
			return err
		})
		if err != nil || asJSON {
			return err
		}
		return w.Flush()
	})
	c.Flags().BoolVar(&asJSON, "json", false, "a JSON object a line")
	c.Flags().BoolVar(&all, "all", false, "the streams of every bucket")
	return c
}

func (s *streamCommand) append() *cobra.Command {
	var asJSON bool
	c := s.verb("append NAME", "Append the lines of standard input", 1, func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error {
		kind := client.TypeText
		if asJSON {
			kind = client.TypeLines
		}
		a, err := cl.Append(ctx, s.bucket, given[0], kind, c.InOrStdin())
		if err != nil {
			if a.Records > 0 {
				return fmt.Errorf("%d records are in, to sequence number %d; then: %w", a.Records, a.End, err)
			}
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "appended %d records, sequence numbers from %d, the next is %d\n", a.Records, a.First, a.End)
		return nil
	})
	c.Flags().BoolVar(&asJSON, "json", false, `the lines are JSON objects: {"data": "…"} or {"base64": "…"}`)
	return c
}

func (s *streamCommand) read() *cobra.Command {
	var from, limit uint64
	var asJSON bool
	c := s.verb("read NAME", "Write a stream's records to standard output", 1, func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error {
		w := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		err := cl.Read(ctx, s.bucket, given[0], from, limit, func(r client.Record) error {
			if asJSON {
				return e.Encode(r)
			}
			if _, err := w.Write(r.Data); err != nil {
				return err
			}
			return w.WriteByte('\n')
		})
		return errors.Join(err, w.Flush())
	})
	c.Flags().Uint64Var(&from, "from", 0, "first sequence number")
	c.Flags().Uint64Var(&limit, "limit", 0, "how many records at most (0: to the end)")
	c.Flags().BoolVar(&asJSON, "json", false, "a JSON object a line, with sequence numbers and times")
	return c
}

func (s *streamCommand) trim() *cobra.Command {
	return s.verb("trim NAME SEQUENCE", "Drop the records below a sequence number", 2, func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error {
		before, err := strconv.ParseUint(given[1], 10, 64)
		if err != nil {
			return usage(c, fmt.Errorf("%q is no sequence number", given[1]))
		}
		if err := cl.Trim(ctx, s.bucket, given[0], before); err != nil {
			return err
		}
		return nil
	})
}

func (s *streamCommand) remove() *cobra.Command {
	return s.verb("delete NAME", "Delete a stream; its address is free at once", 1, func(ctx context.Context, c *cobra.Command, cl *client.Client, given []string) error {
		if err := cl.Delete(ctx, s.bucket, given[0]); err != nil {
			return err
		}
		return nil
	})
}
