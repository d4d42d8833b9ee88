// Replaces the platform's module `cloudflare:workers` in this thread. A module of its own, because a thread that loads
// the simulation again must not replace it twice.

import { registerHooks } from "node:module";

const STAND_IN = new URL("./cloudflare-workers.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers" ? { url: STAND_IN, shortCircuit: true } : next(specifier, context),
});
