// How a tenant's people sign in: the tenant's own config, else the deployment's (SERVICE_SIGN_IN, YAML).

import { parse, type YAMLParseError } from "yaml";
import { type SignInDocument, signInRequest, toSignInDocument } from "../../contract/access/sign-in.ts";
import type { Env } from "../env.ts";
import { findTenant } from "../history/tenants.ts";
import type { AppContext } from "../http/auth.ts";
import { unwrap } from "../http/refused.ts";
import { admission } from "../tenant/tenant-administration.ts";
import type { TenantName } from "../tenant/tenant-object.ts";

let known: { readonly text: string; readonly document: SignInDocument } | null = null;

/** Throws what is wrong with it: where the service starts, its operator sees that. */
export const readDeploymentSignIn = (text: string): SignInDocument => {
  const read = signInRequest.safeParse(parsed(text));
  if (read.success) return toSignInDocument(read.data, null);
  const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "the document"}: ${message}`);
  throw new Error(`SERVICE_SIGN_IN is invalid: ${problems.join("; ")}`);
};

/** The parser's own message repeats the line, which may have the client's secret. */
const parsed = (text: string): unknown => {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (error) {
    const [at] = (error as Partial<YAMLParseError>).linePos ?? [];
    throw new Error(`SERVICE_SIGN_IN is no valid YAML${at ? `: line ${at.line}, column ${at.col}` : ""}`);
  }
};

/** Null if the deployment has none. */
export const deploymentSignIn = ({ SERVICE_SIGN_IN: text = "" }: Env): SignInDocument | null => {
  if (text === "") return null;
  if (known?.text !== text) known = { text, document: readDeploymentSignIn(text) };
  return known.document;
};

export interface TenantSignIn {
  readonly name: TenantName;
  readonly document: SignInDocument;
  /** The document is the deployment's. */
  readonly deployment: SignInDocument | null;
}

/** Null if there is no such tenant, or nothing is configured for it. The object of an unknown tenant is never asked. */
export const signInOf = async (c: AppContext, tenant: string): Promise<TenantSignIn | null> => {
  const found = await findTenant(c.env, tenant);
  if (found === null || found.away !== null) return null;
  const name = { tenant: found.tenant, jurisdiction: found.jurisdiction };
  const own = unwrap(await admission(c.env, name, "readSignIn", null)).document;
  const deployment = own === null ? deploymentSignIn(c.env) : null;
  const document = own ?? deployment;
  return document === null ? null : { name, document, deployment };
};
