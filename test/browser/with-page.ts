import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium } from './find-chromium.ts';

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 800 } } as const;

type Size = keyof typeof SIZES;

/** Where screenshots are written; without it, none are. */
const PICTURES = process.env.SLUICE_PICTURES;

let browser: Promise<Browser> | undefined;

/** One for all files of a worker; it ends with its process. */
const openBrowser = (): Promise<Browser> => {
  // A container has no user namespaces for the sandbox of a browser that root starts.
  browser ??= chromium.launch({
    executablePath: findChromium(),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  return browser;
};

/** Brackets a tab of its own context; fails if the page reported an error. */
export async function withPage<T>(
  fn: (page: Page, context: BrowserContext) => Promise<T>,
  size: Size = 'desktop',
  options: { javaScriptEnabled?: boolean } = {},
): Promise<T> {
  const context = await (await openBrowser()).newContext({
    viewport: SIZES[size],
    colorScheme: 'light',
    timezoneId: 'UTC',
    locale: 'en-US',
    ...options,
  });
  try {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('console', message => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', error => errors.push(String(error)));
    const result = await fn(page, context);
    expect(errors).toEqual([]);
    return result;
  } finally {
    await context.close();
  }
}

/** Opens the page in each size and scheme: nothing is wider than the screen, nothing breaks a rule of accessibility. */
export async function lookAt(
  url: string,
  name: string,
  prepare: (page: Page) => Promise<void> = async () => undefined,
) {
  for (const size of Object.keys(SIZES) as Size[])
    await withPage(async page => {
      await page.goto(url);
      await prepare(page);
      await checkLook(page);
      await takePicture(page, `${name}-${size}-light`);
      await page.emulateMedia({ colorScheme: 'dark' });
      await findViolations(page, COLOURS);
      await takePicture(page, `${name}-${size}-dark`);
    }, size);
}

async function takePicture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  const file = join(PICTURES, name);
  await page.screenshot({ path: `${file}.png` });
  await page.screenshot({ path: `${file}-full.png`, fullPage: true });
}

export async function checkLook(page: Page): Promise<void> {
  const [wide, screen] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, window.innerWidth]',
  );
  expect(wide, `${page.url()} is wider than the screen`).toBeLessThanOrEqual(screen);
  await findViolations(page);
}

/** The rules that the colour scheme can break. */
const COLOURS = { runOnly: ['color-contrast', 'link-in-text-block'] };

async function findViolations(page: Page, options: { runOnly?: readonly string[] } = {}): Promise<void> {
  // Evaluated, not added to the page, whose policy forbids scripts of others.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(${JSON.stringify(options)})`,
  );
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => html).join('\n')}`);
  expect(found, page.url()).toEqual([]);
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}
