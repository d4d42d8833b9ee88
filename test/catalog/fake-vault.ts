// A fake of Vault's and OpenBao's HTTP API, as far as the connector and its tests need it: KV version 2 with versions,
// deletion and custom metadata; AppRole; expiring tokens; policies by path. Status codes and bodies are the documented
// ones. The tests run unchanged against a real server.

interface Version {
  data: Record<string, unknown> | null;
  deletionTime: string;
  destroyed: boolean;
}
interface Secret {
  versions: Version[];
  customMetadata: Record<string, string> | null;
}
interface Mount {
  version: 1 | 2;
  secrets: Map<string, Secret>;
}
interface Token {
  policies: string[];
  until: number;
}
type Body = Record<string, unknown>;

export const ROOT_TOKEN = "root-token";

const answer = (status: number, body?: unknown): Response =>
  body === undefined
    ? new Response(null, { status })
    : new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
const errors = (status: number, ...messages: string[]) => answer(status, { errors: messages });
const wrapped = (data: unknown, auth: unknown = null) =>
  answer(200, { request_id: "r", lease_id: "", renewable: false, lease_duration: 0, data, warnings: null, auth });

export class FakeVault {
  readonly requests: Request[] = [];
  now = 0;
  readonly #mounts = new Map<string, Mount>([["secret", { version: 2, secrets: new Map() }]]);
  readonly #tokens = new Map<string, Token>([[ROOT_TOKEN, { policies: ["root"], until: Number.POSITIVE_INFINITY }]]);
  readonly #policies = new Map<string, string[]>();
  readonly #roles = new Map<string, { policies: string[]; ttlSeconds: number; secretIds: Set<string> }>();
  #nextId = 1;

  readonly fetch = async (request: Request): Promise<Response> => {
    this.requests.push(request.clone());
    const path = new URL(request.url).pathname.replace(/^\/v1\//, "");
    const text = await request.text();
    const body = text === "" ? {} : (JSON.parse(text) as Body);
    if (path === "auth/approle/login") return this.#login(body);
    const token = this.#tokens.get(request.headers.get("x-vault-token") ?? "");
    if (token === undefined || token.until <= this.now) return errors(403, "permission denied");
    if (!this.#mayUse(token, path)) return errors(403, "1 error occurred:\n\t* permission denied\n\n");
    return this.#route(request.method, path, body);
  };

  #mayUse(token: Token, path: string): boolean {
    if (token.policies.includes("root")) return true;
    const granted = token.policies.flatMap((name) => this.#policies.get(name) ?? []);
    return granted.some((rule) => (rule.endsWith("*") ? path.startsWith(rule.slice(0, -1)) : rule === path));
  }

  #route(method: string, path: string, body: Body): Response {
    const [first = "", ...rest] = path.split("/");
    if (first === "sys") return this.#system(rest, body);
    if (first === "auth") return this.#authAdmin(method, rest, body);
    const mount = this.#mounts.get(first);
    if (mount === undefined) {
      return errors(404, `no handler for route "${path}". route entry not found.`);
    }
    return mount.version === 1 ? this.#kv1(method, mount, rest.join("/"), body) : this.#kv2(method, mount, rest, body);
  }

  #system([kind, ...rest]: string[], body: Body): Response {
    if (kind === "mounts") {
      const version = (body.options as Body | undefined)?.version === "2" ? 2 : 1;
      this.#mounts.set(rest.join("/"), { version, secrets: new Map() });
    }
    if (kind === "policies") {
      const rules = String(body.policy).matchAll(/path\s+"([^"]+)"/g);
      this.#policies.set(
        rest[1] ?? "",
        [...rules].map((match) => match[1] ?? ""),
      );
    }
    return answer(204);
  }

  #authAdmin(method: string, path: string[], body: Body): Response {
    if (path[0] === "token" && path[1] === "revoke") {
      this.#tokens.delete(String(body.token));
      return answer(204);
    }
    const [, , name = "", what] = path;
    const role = this.#roles.get(name);
    if (what === "role-id" && method === "GET") return wrapped({ role_id: `role-${name}` });
    if (what === "secret-id" && role !== undefined) {
      const secretId = `secret-id-${this.#nextId++}`;
      role.secretIds.add(secretId);
      return wrapped({ secret_id: secretId, secret_id_accessor: "a", secret_id_ttl: 0 });
    }
    const ttlSeconds = Number.parseInt(String(body.token_ttl ?? "0"), 10);
    this.#roles.set(name, { policies: [String(body.token_policies)], ttlSeconds, secretIds: new Set() });
    return answer(204);
  }

  #login(body: Body): Response {
    const role = this.#roles.get(String(body.role_id).replace(/^role-/, ""));
    if (role === undefined || !role.secretIds.has(String(body.secret_id))) {
      return errors(400, "invalid role or secret ID");
    }
    const token = `hvs.${this.#nextId++}`;
    this.#tokens.set(token, { policies: role.policies, until: this.now + role.ttlSeconds * 1000 });
    return wrapped(null, {
      client_token: token,
      accessor: "a",
      token_policies: role.policies,
      lease_duration: role.ttlSeconds,
      renewable: true,
      metadata: { role_name: "r" },
    });
  }

  #kv1(method: string, mount: Mount, path: string, body: Body): Response {
    if (method === "GET") {
      const data = mount.secrets.get(path)?.versions[0]?.data;
      return data === undefined || data === null ? errors(404) : wrapped(data);
    }
    mount.secrets.set(path, { versions: [{ data: body, deletionTime: "", destroyed: false }], customMetadata: null });
    return answer(204);
  }

  #kv2(method: string, mount: Mount, [kind = "", ...rest]: string[], body: Body): Response {
    const path = rest.join("/");
    const secret = mount.secrets.get(path) ?? { versions: [], customMetadata: null };
    const newest = secret.versions.at(-1);
    if (kind === "data" && method === "GET") return this.#kv2Read(secret, newest);
    mount.secrets.set(path, secret);
    if (kind === "data" && method === "POST") {
      secret.versions.push({ data: body.data as Body, deletionTime: "", destroyed: false });
      return wrapped(this.#metadata(secret, secret.versions.at(-1) as Version));
    }
    if (kind === "data" && method === "DELETE" && newest !== undefined) newest.deletionTime = "2026-11-21T00:00:00Z";
    if (kind === "undelete" && newest !== undefined) newest.deletionTime = "";
    if (kind === "destroy" && newest !== undefined) Object.assign(newest, { destroyed: true, data: null });
    if (kind === "metadata") secret.customMetadata = body.custom_metadata as Record<string, string>;
    return answer(204);
  }

  #kv2Read(secret: Secret, newest: Version | undefined): Response {
    if (newest === undefined) return errors(404);
    const isGone = newest.destroyed || newest.deletionTime !== "";
    const data = { data: isGone ? null : newest.data, metadata: this.#metadata(secret, newest) };
    if (!isGone) return wrapped(data);
    return answer(404, { request_id: "r", lease_id: "", renewable: false, lease_duration: 0, data, warnings: null });
  }

  #metadata(secret: Secret, version: Version) {
    return {
      created_time: "2026-11-20T00:00:00Z",
      custom_metadata: secret.customMetadata,
      deletion_time: version.deletionTime,
      destroyed: version.destroyed,
      version: secret.versions.length,
    };
  }
}
