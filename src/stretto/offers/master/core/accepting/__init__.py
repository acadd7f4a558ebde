"""ACCEPT: conversion of offers to tasks, reservations and volumes.

This package contains the operations of frameworks. It contains neither those of operators nor their
checks.
"""
