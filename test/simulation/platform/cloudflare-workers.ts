// Replaces the platform's module of this name: the base class of the object.

export class DurableObject<Env> {
  readonly ctx: unknown;
  readonly env: Env;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}
