package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestADriverBelowAFolderThatEverybodyMayWriteIsCopied(t *testing.T) {
	private := t.TempDir()
	if err := os.Chmod(private, 0o777); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(private, "driver.so")
	if err := os.WriteFile(built, []byte("driver"), 0o644); err != nil {
		t.Fatal(err)
	}
	path, remove, err := loadable(built)
	if err != nil {
		t.Fatal(err)
	}
	if open, err := writableByAll(path); err != nil || open != "" {
		t.Errorf("the copy %s lies below %s: %v", path, open, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "driver" {
		t.Errorf("the copy has %q: %v", data, err)
	}
	remove()
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the copy's folder is still there: %v", err)
	}
	if _, err := os.Stat(built); err != nil {
		t.Errorf("the driver itself is gone: %v", err)
	}
}

func TestADriverElsewhereIsLoadedWhereItIs(t *testing.T) {
	path, remove, err := loadable("/etc/hostname")
	if err != nil || path != "/etc/hostname" {
		t.Fatalf("%s: %v", path, err)
	}
	remove()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
