package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newTexts() *cobra.Command {
	var address string
	var texts []string
	cmd := &cobra.Command{
		Use:   "texts",
		Short: "Be a store of texts: answer HTTP GET",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			mux := http.NewServeMux()
			for _, t := range texts {
				name, text, ok := strings.Cut(t, "=")
				if !ok {
					return fmt.Errorf("--text %q: want name=text", t)
				}
				mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
			}
			server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
			stop := context.AfterFunc(cmd.Context(), func() { _ = server.Close() })
			defer stop()
			if err := server.ListenAndServe(); cmd.Context().Err() == nil {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "http", ":80", "address to listen at")
	cmd.Flags().StringArrayVar(&texts, "text", nil, "a text under a name, as name=text; may be repeated")
	return cmd
}
