// Stands in for the platform's module of this name: what the object extends.

export class DurableObject<Env> {
  readonly ctx: unknown;
  readonly env: Env;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}
