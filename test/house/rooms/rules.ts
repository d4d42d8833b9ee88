// The rules and the wire.

import type { Room } from "./room.ts";

export const RULES_ROOMS: readonly Room[] = [
  // The rules.
  { places: ["domain/words"], may: [], packages: [] },
  { places: ["domain/fleet"], may: ["domain/words"], packages: [] },
  { places: ["domain/job"], may: ["domain/words", "domain/fleet"], packages: [] },
  { places: ["domain/insight"], may: ["domain/words", "domain/job"], packages: [] },
  { places: ["domain/catalog"], may: ["domain/words"], packages: [] },
  { places: ["domain/access"], may: ["domain/words"], packages: [] },
  { places: ["domain/tenant"], may: ["domain/words"], packages: [] },
  { places: ["domain/file"], may: ["domain/words", "domain/access"], packages: [] },
  { places: ["domain/money"], may: ["domain/words", "domain/fleet", "domain/job", "domain/catalog"], packages: [] },
  { places: ["domain/front-door"], may: ["domain/words", "domain/fleet", "domain/job"], packages: [] },
  {
    places: ["domain/batch"],
    may: ["domain/words", "domain/job", "domain/access", "domain/front-door"],
    packages: [],
  },
  // The config, the killswitch and webhooks.
  { places: ["domain"], may: ["domain/words", "domain/access", "domain/money", "domain/front-door"], packages: [] },
  { places: ["domain/schedule"], may: ["domain/words", "domain/job", "domain"], packages: [] },
  { places: ["domain/routing"], may: ["domain/words", "domain/fleet", "domain"], packages: [] },
  { places: ["log"], may: [], packages: [] },
  { places: ["migrations"], may: [], packages: ["drizzle-orm"] },
  { places: ["providers"], may: ["domain/*"], packages: [] },
  // The wire.
  { places: ["contract/text"], may: ["domain/*"], packages: [] },
  { places: ["contract/words"], may: ["domain/*", "contract/text"], packages: ["zod"] },
  { places: ["contract/access"], may: ["domain/*", "contract/words"], packages: ["zod"] },
  {
    places: ["contract/file.ts", "contract/killswitch.ts", "contract/activity.ts"],
    may: ["domain/*", "contract/text", "contract/words"],
    packages: ["zod"],
  },
  {
    places: ["contract/jobs"],
    may: ["domain/*", "contract/text", "contract/words", "contract/access", "contract/file.ts"],
    packages: ["zod"],
  },
  {
    places: ["contract/fleet"],
    may: ["domain/*", "contract/words", "contract/file.ts", "contract/jobs"],
    packages: ["zod"],
  },
  {
    places: ["contract"],
    may: ["domain/*", "contract/words", "contract/access", "contract/file.ts", "contract/jobs", "contract/fleet"],
    packages: ["zod"],
  },
  {
    places: ["contract/front-door"],
    may: ["domain/*", "contract/text", "contract/words", "contract/file.ts", "contract"],
    packages: ["zod"],
  },
  {
    places: ["contract/config"],
    may: ["domain/*", "contract/text", "contract/words", "contract/front-door"],
    packages: ["zod"],
  },
  { places: ["contract/client", "contract/client.ts"], may: ["domain/*", "contract/text", "contract/*"], packages: [] },
];
