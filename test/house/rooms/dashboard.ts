// The dashboard: no subject imports another.

import type { Room } from "./room.ts";

export const DASHBOARD_ROOMS: readonly Room[] = [
  {
    places: ["dashboard/api.ts", "dashboard/format.ts", "dashboard/router.ts", "dashboard/answer-text.ts"],
    may: ["contract/*"],
    packages: ["@preact/signals"],
  },
  { places: ["dashboard/state"], may: ["contract/*", "dashboard/api.ts"], packages: ["@preact/signals", "preact"] },
  { places: ["dashboard/parts"], may: ["contract/*", "dashboard/api.ts", "dashboard/state"], packages: ["preact"] },
  {
    places: ["dashboard/parts/charts"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/jobs"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/jobs/list"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*", "dashboard/jobs"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/jobs/story"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*", "dashboard/jobs"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/fleet"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/schedules"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/catalog"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/cost"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/settings"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/overview"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/batches"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/models"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["preact"],
  },
  {
    places: ["dashboard/playground"],
    may: ["contract/*", "dashboard/api.ts", "dashboard/state", "dashboard/parts/*"],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard/shell"],
    may: [
      "contract/*",
      "dashboard/api.ts",
      "dashboard/state",
      "dashboard/parts/*",
      "dashboard/jobs/*",
      "dashboard/fleet",
      "dashboard/schedules",
      "dashboard/catalog",
      "dashboard/cost",
      "dashboard/settings",
      "dashboard/overview",
      "dashboard/batches",
      "dashboard/models",
      "dashboard/playground",
    ],
    packages: ["@preact/signals", "preact"],
  },
  {
    places: ["dashboard"],
    may: ["dashboard/api.ts", "dashboard/state", "dashboard/shell"],
    packages: ["@preact/preset-vite", "@preact/signals", "preact", "vite"],
  },
];
