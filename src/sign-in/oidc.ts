// OpenID Connect, the authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0, 3.1; RFC 9700).
// The protocol is oauth4webapi's; the id token's signature is checked as well, although it came over TLS.

import * as oauth from "oauth4webapi";
import type { SignInDocument } from "../../contract/access/sign-in.ts";
import type { Claims } from "../../domain/access/role-rules.ts";
import { checkUrl } from "../catalog/url-policy.ts";
import { IdentityError } from "./identity-error.ts";
import type { IdentityFetch } from "./identity-fetch.ts";
import { askUnlessFailing, Remembered } from "./remembered.ts";
import { ALGORITHMS, CLOCK_TOLERANCE_SECONDS, verifyToken } from "./signed-token.ts";

type Oidc = NonNullable<SignInDocument["oidc"]>;

const DISCOVERED_KEPT_MS = 600_000;
/** The same where it must be known that the provider is there. */
const SEEN_KEPT_MS = 1_000;
const discovered = new Remembered<{ readonly server: oauth.AuthorizationServer; readonly at: number }>();

export interface Network {
  readonly fetch: IdentityFetch;
  /** Plain http and private addresses are allowed. */
  readonly isPrivate: boolean;
}

const optionsFor = ({ fetch, isPrivate }: Network) => ({
  [oauth.customFetch]: (url: string, init: object) => fetch(url, init as RequestInit),
  [oauth.allowInsecureRequests]: isPrivate,
});

/** The provider's addresses, kept for ten minutes. */
const discover = async (
  issuer: string,
  network: Network,
  keptMs = DISCOVERED_KEPT_MS,
): Promise<oauth.AuthorizationServer> => {
  const known = discovered.get(issuer);
  if (known !== undefined && Math.abs(Date.now() - known.at) < keptMs) return known.server;
  const server = await askUnlessFailing(issuer, () => readDiscovery(issuer, network));
  discovered.keep(issuer, { server, at: Date.now() });
  return server;
};

const readDiscovery = async (issuer: string, network: Network): Promise<oauth.AuthorizationServer> => {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: "oidc", ...optionsFor(network) });
  if (response.status !== 200)
    throw new IdentityError(`the discovery document of ${issuer} cannot be read: ${response.status}`, true);
  return oauth.processDiscoveryResponse(url, response);
};

const clientOf = ({ client_id }: Oidc): oauth.Client => ({
  client_id,
  [oauth.clockTolerance]: CLOCK_TOLERANCE_SECONDS,
});

const clientAuthOf = ({ client_secret }: Oidc, server: oauth.AuthorizationServer): oauth.ClientAuth => {
  if (client_secret === null) return oauth.None();
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(client_secret)
    : oauth.ClientSecretPost(client_secret);
};

/** What must be the same when the person comes back. */
export interface Challenge {
  readonly verifier: string;
  readonly nonce: string;
  readonly state: string;
  readonly redirectUri: string;
}

export const newChallenge = (redirectUri: string): Challenge => ({
  verifier: oauth.generateRandomCodeVerifier(),
  nonce: oauth.generateRandomNonce(),
  state: oauth.generateRandomState(),
  redirectUri,
});

/**
 * The address of the identity provider to send the browser to. Silently, only to one that is there: who did not ask to
 * leave the page must not end on an error page.
 */
export const authorizationUrl = async (
  oidc: Oidc,
  challenge: Challenge,
  network: Network,
  isSilent: boolean,
): Promise<string> =>
  explaining(async () => {
    const server = await discover(oidc.issuer, network, isSilent ? SEEN_KEPT_MS : DISCOVERED_KEPT_MS);
    const endpoint = server.authorization_endpoint ?? "";
    const wrong = checkUrl(endpoint, network.isPrivate);
    if (wrong !== null) throw new IdentityError(`the provider's authorization_endpoint ${wrong}`);
    const url = new URL(endpoint);
    const parameters = {
      client_id: oidc.client_id,
      response_type: "code",
      redirect_uri: challenge.redirectUri,
      scope: oidc.scopes.includes("openid") ? oidc.scopes.join(" ") : ["openid", ...oidc.scopes].join(" "),
      state: challenge.state,
      nonce: challenge.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(challenge.verifier),
      code_challenge_method: "S256",
      ...(isSilent ? { prompt: "none" } : {}),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  });

export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
}

/** Who came back: the claims of the id token and of userinfo. */
export const identityFrom = (oidc: Oidc, challenge: Challenge, back: URL, network: Network): Promise<Identity> =>
  explaining(async () => {
    // Which algorithms count is not the kept document's word: a provider may sign with another one from now on.
    const algorithms = { id_token_signing_alg_values_supported: ALGORITHMS };
    const server = { ...(await discover(oidc.issuer, network)), ...algorithms };
    const client = clientOf(oidc);
    const options = optionsFor(network);
    const parameters = oauth.validateAuthResponse(server, client, back, challenge.state);
    const { redirectUri, verifier, nonce } = challenge;
    const auth = clientAuthOf(oidc, server);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      auth,
      parameters,
      redirectUri,
      verifier,
      options,
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    const jwksUrl = server.jwks_uri ?? "";
    const signed = { jwksUrl, issuer: server.issuer, audience: oidc.client_id };
    const claims = await verifyToken(tokens.id_token ?? "", signed, network.fetch);
    const more = await userInfoOf(server, client, { token: tokens.access_token, subject: claims.sub }, network);
    // What the provider signed counts before what it merely answered.
    return { issuer: server.issuer, subject: claims.sub, claims: { ...more, ...claims } as Claims };
  });

const userInfoOf = async (
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  { token, subject }: { readonly token: string; readonly subject: string },
  network: Network,
): Promise<object> => {
  if (server.userinfo_endpoint === undefined) return {};
  const response = await oauth.userInfoRequest(server, client, token, optionsFor(network));
  return oauth.processUserInfoResponse(server, client, subject, response);
};

/** The libraries' errors in words; what the provider said of itself is quoted. */
const explaining = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw explained(error);
  }
};

const MAX_QUOTED_CHARS = 200;

const explained = (error: unknown): IdentityError => {
  if (error instanceof IdentityError) return error;
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const { error: code, error_description: says = "" } = error;
    return new IdentityError(`the identity provider refused: ${`${code} ${says}`.trim().slice(0, MAX_QUOTED_CHARS)}`);
  }
  const cause = (error as { cause?: unknown }).cause;
  if (cause instanceof IdentityError) return cause;
  const { attribute, body } = (cause ?? {}) as { attribute?: string; body?: { issuer?: unknown } };
  if (attribute === "issuer")
    return new IdentityError(
      `its discovery document names another issuer, ${String(body?.issuer).slice(0, MAX_QUOTED_CHARS)}: give exactly that`,
    );
  return new IdentityError(
    `the identity provider's answer is not valid: ${String((error as Error).message).slice(0, MAX_QUOTED_CHARS)}`,
  );
};

/** The code of the provider's refusal, from the address that it sent the browser to. */
export const refusalIn = (back: URL): string | null => back.searchParams.get("error");
