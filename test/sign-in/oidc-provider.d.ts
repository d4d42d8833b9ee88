// What the tests use of `oidc-provider`, which has no types of its own.

declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  interface GrantClass {
    new (of: { accountId: string; clientId: string }): Grant;
    find(id: string): Promise<Grant | undefined>;
  }
  interface Account {
    accountId: string;
    claims: () => Record<string, unknown> & { sub: string };
  }
  interface Settings {
    readonly interactions: { readonly url: (context: unknown, interaction: { readonly uid: string }) => string };
    readonly findAccount: (context: unknown, sub: string) => Account | undefined;
    readonly [setting: string]: unknown;
  }

  export default class Provider {
    constructor(issuer: string, settings: Settings);
    readonly Grant: GrantClass;
    use(middleware: (context: { body: unknown }, next: () => Promise<void>) => Promise<void>): void;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ params: Record<string, unknown>; prompt: { name: string }; grantId?: string }>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
}
