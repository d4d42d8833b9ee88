// The browser of tests, benchmarks and pictures: what CHROMIUM_PATH names, else the first of these that is there. Debian's
// headless shell is the same Chromium without a window, for half the CPU.

import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;

export const CHROMIUM = process.env.CHROMIUM_PATH ?? PLACES.find((place) => existsSync(place)) ?? PLACES[0];
