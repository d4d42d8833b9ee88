#!/bin/sh
# Starts $CHROMIUM so that it ignores the policy by which a page leaves its opener (Cross-Origin-Opener-Policy): by it
# each page begins a second process, half of what a load takes. Chromium heeds only the last list of features, so the
# name goes into Playwright's.
for arg do
  shift
  case "$arg" in --disable-features=*) arg="$arg,CrossOriginOpenerPolicy" ;; esac
  set -- "$@" "$arg"
done
exec "$CHROMIUM" "$@"
