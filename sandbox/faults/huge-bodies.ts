import { gzipSync } from 'node:zlib';

const MEGABYTE = 2 ** 20;
const HUGE_MEGABYTES = 256;
const START = '{"success":true,"data":[';
const END = ']}';
const megabyteOfSpaces = () => Buffer.alloc(MEGABYTE, ' ');

/** An empty list padded with spaces: valid JSON for a client that reads all of it. */
export function hugeBody(): ReadableStream<Uint8Array> {
  const piece = megabyteOfSpaces();
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(Buffer.from(START)),
    pull(controller) {
      sent += 1;
      controller.enqueue(sent <= HUGE_MEGABYTES ? piece : Buffer.from(END));
      if (sent > HUGE_MEGABYTES) controller.close();
    },
  });
}

let compressed: Buffer<ArrayBuffer> | undefined;

/** The same body compressed. Concatenated gzip files are one gzip file, so a single compressed megabyte is repeated. */
export function hugeGzipBody(): Buffer<ArrayBuffer> {
  compressed ??= Buffer.concat([
    gzipSync(START),
    ...Array.from({ length: HUGE_MEGABYTES }).fill(gzipSync(megabyteOfSpaces())),
    gzipSync(END),
  ] as Buffer[]);
  return compressed;
}
