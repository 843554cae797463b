import { assertEquals } from "@std/assert";
import {
  parseTraceparent,
  parseXrayHeader,
  toW3cTraceId,
  type TraceContext,
} from "../../observability/trace_context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736", PARENT = "00f067aa0ba902b7";
const ROOT = "1-5759e988-bd862e3fe1be46a994272793";

/** W3C Trace Context, sections 3.2.2 and 4.3. */
const TRACEPARENTS: [header: string | null | undefined, context: TraceContext | undefined][] = [
  [`00-${TRACE}-${PARENT}-01`, { traceId: TRACE, parentId: PARENT, sampled: true }],
  [`00-${TRACE}-${PARENT}-00`, { traceId: TRACE, parentId: PARENT, sampled: false }],
  [`00-${TRACE}-${PARENT}-03`, { traceId: TRACE, parentId: PARENT, sampled: true }],
  [` 00-${TRACE}-${PARENT}-01 `, { traceId: TRACE, parentId: PARENT, sampled: true }],
  [`cc-${TRACE}-${PARENT}-01-what-comes-later`, {
    traceId: TRACE,
    parentId: PARENT,
    sampled: true,
  }],
  [`00-${TRACE}-${PARENT}-01-more`, undefined],
  [`ff-${TRACE}-${PARENT}-01`, undefined],
  [`00-${"0".repeat(32)}-${PARENT}-01`, undefined],
  [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${PARENT}-01`, undefined],
  [`00-${TRACE.slice(1)}-${PARENT}-01`, undefined],
  [`00-${TRACE}-${PARENT}`, undefined],
  ["garbage", undefined],
  ["", undefined],
  [null, undefined],
  [undefined, undefined],
];

Deno.test("parseTraceparent() reads what W3C allows and ignores the rest", () => {
  for (const [header, context] of TRACEPARENTS) {
    assertEquals(parseTraceparent(header), context, String(header));
  }
});

const XRAY_HEADERS: [header: string | null | undefined, context: TraceContext | undefined][] = [
  [`Root=${ROOT}`, { traceId: ROOT, parentId: undefined, sampled: undefined }],
  [`Root=${ROOT};Parent=53995c3f42cd8ad8;Sampled=1`, {
    traceId: ROOT,
    parentId: "53995c3f42cd8ad8",
    sampled: true,
  }],
  [`Sampled=0; Root=${ROOT}`, { traceId: ROOT, parentId: undefined, sampled: false }],
  [`Root=${ROOT};Sampled=?`, { traceId: ROOT, parentId: undefined, sampled: undefined }],
  [`Self=1-67891234-12456789abcdef012345678;Root=${ROOT};Lineage=x:0`, {
    traceId: ROOT,
    parentId: undefined,
    sampled: undefined,
  }],
  [`Root=${ROOT};Parent=short`, { traceId: ROOT, parentId: undefined, sampled: undefined }],
  ["Root=1-nothex00-bd862e3fe1be46a994272793", undefined],
  ["Parent=53995c3f42cd8ad8;Sampled=1", undefined],
  ["=;;=", undefined],
  ["", undefined],
  [null, undefined],
  [undefined, undefined],
];

Deno.test("parseXrayHeader() reads root, parent and sampling", () => {
  for (const [header, context] of XRAY_HEADERS) {
    assertEquals(parseXrayHeader(header), context, String(header));
  }
});

Deno.test("parseXrayHeader() takes no root that a character was changed in, left out of or added to", () => {
  const header = `Root=${ROOT}`;
  for (let at = 0; at <= header.length; at++) {
    for (const other of ["", "g", "\n", "é", header.slice(at, at + 1).repeat(2) || "0"]) {
      const edited = header.slice(0, at) + other + header.slice(at + 1);
      if (edited.trim() !== header) {
        assertEquals(parseXrayHeader(edited), undefined, JSON.stringify(edited));
      }
    }
  }
});

Deno.test("toW3cTraceId() turns X-Ray's format into 32 hex digits and leaves W3C's", () => {
  assertEquals(
    toW3cTraceId("1-5759E988-bd862e3fe1be46a994272793"),
    "5759e988bd862e3fe1be46a994272793",
  );
  assertEquals(toW3cTraceId(TRACE), TRACE);
});
