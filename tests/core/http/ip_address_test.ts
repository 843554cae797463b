import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { BlockList, isIP } from "node:net";
import {
  getAddressPrefix,
  isInBlock,
  parseAddressBlock,
  parseIpAddress,
} from "../../../core/http/ip_address.ts";
import { testSeed } from "../../support/seed.ts";

const numRuns = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 200_000 : 3_000;

/** Texts that are addresses, or nearly. */
const piece = fc.oneof(
  fc.constantFrom(
    "",
    ":",
    "::",
    ".",
    "1",
    "ffff",
    "12345",
    "256",
    "00",
    "g",
    "/",
    "%eth0",
    " ",
    "0x1",
  ),
  fc.ipV4(),
);
const text = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.array(piece, { maxLength: 9 }).map((parts) => parts.join("")),
  fc.array(fc.constantFrom("0", "db8", "ffff", "1", ""), { maxLength: 9 }).map((groups) =>
    groups.join(":")
  ),
);

Deno.test("parseIpAddress() accepts exactly the addresses that node:net accepts", () => {
  fc.assert(
    fc.property(text, (candidate) => {
      if (candidate.includes("%")) return;
      assertEquals(parseIpAddress(candidate) !== undefined, isIP(candidate) > 0, candidate);
    }),
    { seed: testSeed, numRuns },
  );
});

Deno.test("isInBlock() agrees with node:net's block list", () => {
  const block = fc.oneof(
    fc.tuple(fc.ipV4(), fc.nat(32)),
    fc.tuple(fc.ipV6(), fc.nat(128)),
  );
  const near = fc.tuple(block, fc.oneof(fc.ipV4(), fc.ipV6()), fc.boolean());
  fc.assert(
    fc.property(near, ([[network, prefix], other, isSame]) => {
      const family = isIP(network) === 4 ? "ipv4" : "ipv6";
      const address = isSame ? network : other;
      const list = new BlockList();
      list.addSubnet(network, prefix, family);
      const expected = list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
      const parsed = parseAddressBlock(`${network}/${prefix}`)!;
      assertEquals(
        isInBlock(parsed, parseIpAddress(address)!),
        expected,
        `${address} in ${network}/${prefix}`,
      );
    }),
    { seed: testSeed, numRuns: Math.min(numRuns, 20_000) },
  );
});

Deno.test("parseAddressBlock() refuses what is no block", () => {
  for (
    const bad of ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "10/8", "a", "::/x"]
  ) {
    assertEquals(parseAddressBlock(bad), undefined, bad);
  }
});

for (
  const [address, expected] of [
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.7"],
    ["2001:DB8::1", "2001:db8:0:0::/64"],
    ["2001:0db8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:0::/64"],
    ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
    ["::1", "0:0:0:0::/64"],
  ]
) {
  Deno.test(`getAddressPrefix() counts ${address} by ${expected}`, () => {
    assertEquals(getAddressPrefix(address), expected);
  });
}
