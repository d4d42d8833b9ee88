// People who sign in with the organisation's identity. Their roles come from rules over the claims of the identity provider.

import type { PersonResource } from "../../contract/access/person.ts";
import type { SignInResource } from "../../contract/access/sign-in.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";

const ID = { name: "id", says: "the person's id, as in `people list`" } as const;

const showPerson = ({ output }: Context, person: PersonResource): void =>
  output.record(person, [
    ["id", person.id],
    ["name", person.name],
    ["e-mail", person.email],
    ["role", person.role],
    ["blocked", person.blocked ? "yes" : "no"],
    ["last seen", when(person.last_seen_at)],
  ]);

/** Exactly one of the three is given. */
const testOf = (rule: SignInResource["roles"][number]): string =>
  (["has", "equals", "matches"] as const)
    .flatMap((test) => (rule[test] == null ? [] : [`${test} ${rule[test]}`]))
    .join("");

/** A command that blocks a person or ends that. */
const turn = (verb: "block" | "unblock", says: string): Verb => ({
  name: `people ${verb}`,
  says,
  examples: [`people ${verb} person_1`],
  args: [ID],
  run: async (context, input) =>
    showPerson(context, await context.client().people[verb](input.arg("id"), { signal: context.signal })),
});

export const peopleCommands: readonly Verb[] = [
  {
    name: "people list",
    says: "Lists who has signed in, with the role that each has",
    examples: ["people list", "people list --json"],
    run: async ({ client, output, signal }) => {
      const found = await client().people.list({ signal });
      output.table(found, found.people, [
        { title: "id", of: ({ id }) => id },
        { title: "name", of: ({ name }) => name },
        { title: "e-mail", of: ({ email }) => email },
        { title: "role", of: ({ role }) => role },
        { title: "last seen", of: ({ last_seen_at }) => when(last_seen_at) },
        { title: "blocked", of: ({ blocked }) => (blocked ? "yes" : "") },
      ]);
    },
  },
  {
    name: "people roles",
    says: "Lists the rules that give people their role; the first that fits decides",
    examples: ["people roles"],
    run: async ({ client, output, signal }) => {
      const { roles, from } = await client().signIn.get({ signal });
      output.table({ roles, from }, roles, [
        { title: "claim", of: ({ claim }) => claim },
        { title: "rule", of: testOf },
        { title: "role", of: ({ role }) => role },
      ]);
      if (roles.length === 0) output.say("No rule: nobody can sign in with the organisation's identity.");
    },
  },
  turn("block", "Blocks a person: sessions, sockets and keys stop at once"),
  turn("unblock", "Unblocks a person; the keys live again"),
  {
    name: "people sign-out",
    says: "Ends all sessions of a person, who may sign in again",
    examples: ["people sign-out person_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const id = input.arg("id");
      await client().people.endSessions(id, { signal });
      output.say(`The sessions of ${id} are ended.`);
    },
  },
];
