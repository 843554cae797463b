// deno-lint-ignore-file no-console
/**
 * Checks that a tag equals the version in deno.json, and prints its section of CHANGELOG.md as
 * release notes.
 *
 *   deno run --allow-read scripts/release_notes.ts v1.2.3
 *
 * @module
 */

/**
 * Returns the section of one version of a changelog.
 *
 * @param changelog In the form of Keep a Changelog.
 * @param version The version without `v`.
 * @returns The section's text, without its heading.
 * @throws {Error} If it is missing, empty, or marked as unreleased.
 */
function readSection(changelog: string, version: string): string {
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
 * Returns the release notes of a tag.
 *
 * @param tag `v` and the version.
 * @param version The version in deno.json.
 * @param changelog CHANGELOG.md.
 * @throws {Error} If the tag is another version, or the changelog has no section for it.
 */
export function releaseNotes(tag: string, version: string, changelog: string): string {
  if (tag !== `v${version}`) {
    throw new Error(
      `The tag is ${tag} and deno.json says ${version}: tag ` +
        `v${version}, or raise the version first`,
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
