import { X509Certificate } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { createServerCertificate } from "../../../distsql/server/certificate.ts";

Deno.test("createServerCertificate() makes a certificate that its authority signed for each host", () => {
  const { cert, ca, key } = createServerCertificate([
    "abc.dsql.us-east-1.on.aws",
    "localhost",
    "127.0.0.1",
  ]);
  const server = new X509Certificate(cert);
  const authority = new X509Certificate(ca);
  assert(server.verify(authority.publicKey));
  assert(authority.verify(authority.publicKey));
  assert(authority.ca);
  assertEquals(server.ca, false);
  assertEquals(
    server.subjectAltName,
    "DNS:abc.dsql.us-east-1.on.aws, DNS:localhost, IP Address:127.0.0.1",
  );
  assert(key.startsWith("-----BEGIN PRIVATE KEY-----"));
});

Deno.test("createServerCertificate() makes a certificate that is valid now", () => {
  const { cert } = createServerCertificate(["localhost"]);
  const { validFrom, validTo } = new X509Certificate(cert);
  assert(Date.parse(validFrom) < Date.now());
  assert(Date.parse(validTo) > Date.now() + 300 * 24 * 3600 * 1000);
});
