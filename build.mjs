import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

/*
 * `node build.mjs [folder]`: bundles the program, its jobs and migrations, and the public client, with all packages that
 * they need, into `folder` (default: dist). One file of a bundle loads in the time of dozens of modules: a command
 * starts in half the time. docs/decisions/0010-bundled-build.md
 */
const folder = process.argv[2] ?? 'dist';
const modules = ['jobs', 'migrations'].flatMap(each =>
  readdirSync(each, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => join(each, file)),
);
rmSync(folder, { recursive: true, force: true });
await build({
  entryPoints: ['src/main.ts', 'src/source/public/public-client.ts', ...modules],
  outbase: '.',
  outdir: folder,
  // A command loads only the chunks that it needs.
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  // An optional driver of pg, which Sluice does not use.
  external: ['pg-native'],
  // As Node 21 and later define it. Without it pg asks a `Response` whether it runs on Cloudflare, for which Node loads its own undici:
  // up to a sixth of the time in which a command starts.
  define: { navigator: '{"userAgent":"Node.js"}' },
  // CommonJS packages in the bundle call `require` for modules of Node. The name must not clash with one of ours.
  banner: {
    js: "import { createRequire as createBundleRequire } from 'node:module';const require = createBundleRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
// npm makes a program executable only when it first links it.
chmodSync(join(folder, 'src/main.js'), 0o755);
