// What the MCP library needs of its platform, in the place of its own (`wrangler.toml` names this file): its validator of
// JSON schemas, and the schemas that it builds at each cold start, would be paid for by every request. The tools'
// arguments are validated by zod.

/** For answers of a client's user, which no tool asks for. */
export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error("no tool asks a client's user");
  }
}
