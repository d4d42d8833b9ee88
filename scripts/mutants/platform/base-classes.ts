// What the service imports from `cloudflare:workers`, in plain Node.

class WithBindings {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class DurableObject extends WithBindings {}
export class WorkerEntrypoint extends WithBindings {}
