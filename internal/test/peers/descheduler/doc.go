// Package descheduler has an adapter for the dry run of descheduler.
package descheduler
