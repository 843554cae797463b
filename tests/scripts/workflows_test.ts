import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";

const FOLDER = new URL("../../.github/workflows/", import.meta.url);
const read = (name: string) => Deno.readTextFileSync(new URL(name, FOLDER));

/** The texts of a workflow's jobs, by name. */
function readJobs(text: string): Map<string, string> {
  const parts = text.slice(text.indexOf("\njobs:\n") + 7).split(/^ {2}(\w+):\n/m);
  return new Map(
    parts.slice(1).flatMap((part, at, all) => at % 2 === 0 ? [[part, all[at + 1]] as const] : []),
  );
}

Deno.test("workflows pin every action by the commit of a release", () => {
  let count = 0;
  for (const { name } of Deno.readDirSync(FOLDER)) {
    for (const [, action] of read(name).matchAll(/uses: (.+)/g)) {
      assertMatch(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${action}`);
      count++;
    }
  }
  assert(count > 5);
});

Deno.test("the publish workflow protects every job that publishes, and takes tags of main alone", () => {
  const jobs = readJobs(read("publish.yml"));
  assertEquals([...jobs.keys()], ["test", "jsr", "npm", "release", "docs"]);
  for (const name of ["jsr", "npm", "release", "docs"]) {
    assertStringIncludes(jobs.get(name)!, "    environment: release");
  }
  assertStringIncludes(
    jobs.get("test")!,
    'git merge-base --is-ancestor "$GITHUB_SHA" refs/remotes/origin/main',
  );
  for (const [name, job] of jobs) {
    if (name !== "test") assertMatch(job, /needs: .*\b(?:test|npm|release)\b/);
  }
});

Deno.test("the publish workflow releases a list of what the package is made of", () => {
  const jobs = readJobs(read("publish.yml"));
  assertStringIncludes(jobs.get("test")!, "> ../sbom.spdx.json");
  assertMatch(jobs.get("release")!, /gh release create .* sbom\.spdx\.json/);
});
