package main

import "github.com/spf13/cobra"

func newDev() *cobra.Command     { return &cobra.Command{Use: "dev"} }
func newStar() *cobra.Command    { return &cobra.Command{Use: "star"} }
func newAuditor() *cobra.Command { return &cobra.Command{Use: "auditor"} }
func newNode() *cobra.Command    { return &cobra.Command{Use: "node"} }
func newVerify() *cobra.Command  { return &cobra.Command{Use: "verify"} }
func newSim() *cobra.Command     { return &cobra.Command{Use: "sim"} }
