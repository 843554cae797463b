import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  findFaults,
  getLicence,
  isPermissive,
  type LicensedPackage,
  listLicences,
  renderLicences,
} from "../../scripts/licences.ts";

for (
  const [licence, expected] of [
    ["MIT", true],
    ["(MIT OR GPL-3.0-only)", true],
    ["GPL-3.0 OR ISC", true],
    ["MIT AND Apache-2.0", true],
    ["MIT AND GPL-2.0", false],
    ["AGPL-3.0-only", false],
    ["LGPL-3.0", false],
    ["MPL-2.0", false],
    ["SEE LICENSE IN LICENSE.md", false],
    ["UNLICENSED", false],
    ["(MIT OR (GPL-2.0 AND ISC))", false],
    ["", false],
  ] as const
) {
  Deno.test(`isPermissive() says ${expected} of ${JSON.stringify(licence)}`, () => {
    assertEquals(isPermissive(licence), expected);
  });
}

Deno.test("findFaults() names what is unknown or copyleft, and lets named tools of development pass", () => {
  const one = (name: string, licence: string, reach: LicensedPackage["reach"]) => ({
    name,
    version: "1.0.0",
    licence,
    reach,
  });
  const faults = findFaults([
    one("fine", "MIT", "package"),
    one("strong", "GPL-3.0", "optional"),
    one("nameless", "", "development"),
    one("@cdktf/hcl2json", "MPL-2.0", "development"),
    one("@cdktf/hcl2json", "MPL-2.0", "package"),
    one("@cdktf/hcl2json", "GPL-3.0", "development"),
  ]);
  assertEquals(faults.map((fault) => fault.split(":")[0]), [
    "strong@1.0.0 (optional) has the licence GPL-3.0",
    "nameless@1.0.0 (development) has the licence (none)",
    "@cdktf/hcl2json@1.0.0 (package) has the licence MPL-2.0",
    "@cdktf/hcl2json@1.0.0 (development) has the licence GPL-3.0",
  ]);
});

Deno.test("listLicences() follows dependencies, and not what a user adds or leaves", () => {
  const locked = {
    "main@1.0.0_peer@2.0.0": { dependencies: ["inner@1.1.0", "peer"], optionalPeers: ["peer"] },
    "inner@1.1.0": {},
    "inner@2.0.0": { optionalDependencies: ["inner-mac"] },
    "inner-mac@2.0.0": { os: ["darwin"] },
    "peer@2.0.0": { dependencies: ["inner@2.0.0"] },
    "@scope/tool@3.0.0": {},
  };
  const asked: string[] = [];
  const packages = listLicences(
    locked,
    { package: ["main"], optional: ["peer"] },
    (name, version) => {
      asked.push(`${name}@${version}`);
      return name === "inner" ? "ISC" : "MIT";
    },
  );
  assertEquals(
    packages.map(({ name, version, licence, reach }) => `${name}@${version} ${licence} ${reach}`),
    [
      "@scope/tool@3.0.0 MIT development",
      // what is for another system is not installed, and is a part of the package that chooses it
      "inner-mac@2.0.0 ISC optional",
      "inner@1.1.0 ISC package",
      "inner@2.0.0 ISC optional",
      "main@1.0.0 MIT package",
      "peer@2.0.0 MIT optional",
    ],
  );
  assertEquals(asked.includes("inner-mac@2.0.0"), false);
  const page = renderLicences(packages);
  assertStringIncludes(page, "6 packages: 3 ISC, 3 MIT.");
  assertStringIncludes(page, "| main | 1.0.0 | MIT |");
});

Deno.test("getLicence() reads the present form and the old ones", () => {
  assertEquals(
    [{ license: "MIT" }, { license: { type: "ISC" } }, {
      licenses: [{ type: "MIT" }, { type: "BSD" }],
    }, {}].map(
      getLicence,
    ),
    ["MIT", "ISC", "MIT OR BSD", ""],
  );
});
