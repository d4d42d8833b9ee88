// Replaces the platform's module `cloudflare:workers`: the class that objects extend.

import { registerHooks } from "node:module";

const STAND_IN =
  "data:text/javascript,export class DurableObject { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }";

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers" ? { url: STAND_IN, shortCircuit: true } : next(specifier, context),
});
