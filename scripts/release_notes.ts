// deno-lint-ignore-file no-console
/**
 * Checks that a tag is the version of deno.json, and prints the section of CHANGELOG.md that belongs to it: the text of the release.
 *
 *   deno run --allow-read scripts/release_notes.ts v1.2.3
 *
 * @module
 */

/**
 * Cuts the section of one version out of a changelog.
 *
 * @param changelog In the form of Keep a Changelog.
 * @param version Without `v`.
 * @returns The section's text, without its heading.
 * @throws {Error} When there is none, it is empty, or it is still marked as unreleased.
 */
export function readSection(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) =>
    text.startsWith(`${version} `) || text.startsWith(`${version}\n`)
  );
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`);
  const [heading, ...lines] = section.split("\n");
  if (/unreleased/i.test(heading)) {
    throw new Error(`CHANGELOG.md calls ${version} unreleased: give it the date of the release`);
  }
  const text = lines.join("\n").trim();
  if (text === "") throw new Error(`The section of ${version} in CHANGELOG.md is empty`);
  return text;
}

/**
 * Gives the text of a release.
 *
 * @param tag `v` and the version.
 * @param version The one place that says it: deno.json.
 * @param changelog CHANGELOG.md.
 * @throws {Error} When the tag is of another version, or the changelog has no section for it.
 */
export function releaseNotes(tag: string, version: string, changelog: string): string {
  if (tag !== `v${version}`) {
    throw new Error(
      `The tag is ${tag} and deno.json says ${version}: tag v${version}, or raise the version first`,
    );
  }
  return readSection(changelog, version);
}

if (import.meta.main) {
  const read = (file: string) => Deno.readTextFileSync(new URL(`../${file}`, import.meta.url));
  const [tag = ""] = Deno.args;
  try {
    console.log(releaseNotes(tag, JSON.parse(read("deno.json")).version, read("CHANGELOG.md")));
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
