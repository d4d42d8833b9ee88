// A real identity provider (`oidc-provider`) on this machine, in the same run. A person who signs in there is the account
// that `next` names: no page is shown, as with a browser that is signed in there already.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export type Account = Record<string, unknown> & { readonly sub: string };

export interface IdentityProvider {
  readonly issuer: string;
  /** Who signs in next. */
  next: Account;
  /** Answers every request with 503. */
  isDown: boolean;
  readonly close: () => Promise<void>;
}

export const CLIENT = { client_id: "signalbox", client_secret: "a secret of at least thirty-two characters" };

/** `told`: what its discovery document says in place of the truth. */
export const openIdentityProvider = async (
  redirectUri: string,
  first: Account,
  told: object = {},
): Promise<IdentityProvider> => {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts = new Map<string, Account>();
  const provider = new Provider(issuer, {
    clients: [
      { ...CLIENT, redirect_uris: [redirectUri], response_types: ["code"], grant_types: ["authorization_code"] },
    ],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name"],
      groups: ["groups", "realm_access"],
    },
    scopes: ["openid", "email", "profile", "groups"],
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    cookies: { keys: ["a key for cookies"] },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => {
      const account = accounts.get(sub);
      return account && { accountId: sub, claims: () => account };
    },
  });
  provider.use(async (context, next) => {
    await next();
    if ((context.body as { jwks_uri?: string } | undefined)?.jwks_uri)
      context.body = { ...(context.body as object), ...told };
  });
  const idp: IdentityProvider = {
    issuer,
    next: first,
    isDown: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const handle = provider.callback();
  server.on("request", async (request, response) => {
    if (idp.isDown) return void response.writeHead(503).end();
    if (!request.url?.startsWith("/interaction/")) return handle(request, response);
    accounts.set(idp.next.sub, idp.next);
    const { params, prompt, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") {
      return provider.interactionFinished(request, response, { login: { accountId: idp.next.sub } });
    }
    const grant =
      grantId === undefined
        ? new provider.Grant({ accountId: idp.next.sub, clientId: String(params.client_id) })
        : await provider.Grant.find(grantId);
    grant?.addOIDCScope("openid email profile groups");
    return provider.interactionFinished(request, response, { consent: { grantId: await grant?.save() } });
  });
  return idp;
};
