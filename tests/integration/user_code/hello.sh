#!/bin/sh
echo "score $1"
