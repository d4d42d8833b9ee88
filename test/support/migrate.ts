import { applyD1Migrations } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { boundDatabases } from "../../domain/tenant/tenant-database.ts";

for (const { database } of boundDatabases(env)) await applyD1Migrations(database, env.TEST_MIGRATIONS);
