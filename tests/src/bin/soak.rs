//! `make soak`: a random run for as long as it is told; see `shardid_tests::soak`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use shardid_tests::my::{Engine, Plays};
use shardid_tests::rand::SeedableRng;
use shardid_tests::rand::rngs::StdRng;
use shardid_tests::soak::{Ending, Kind, Maker, Part, Scenario, Soak, Until, moves};

/// Lets crashes, clock steps and promotions come over sessions that take ids
///
/// Every id that a session receives is kept; none may come twice, those of a
/// session must rise, each must be of its shard, and none further ahead of the
/// clock than allowed. Ends with exit code 1 at the first one that does not
/// keep to that. The seed determines every choice, but not which process runs
/// at which instant: a run that found something may have to be repeated.
///
/// The faults of a seed are numbered, so that a long run can be made in parts: each
/// part closes with the line to continue it by, and with one for docs/benchmarks.md.
/// After each fault an id from before it is handed in once more, and must be noticed.
#[derive(Parser)]
#[command(name = "soak")]
struct Arguments {
    /// How long to go on; 60 seconds by default
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// How long to go on, in minutes
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u64>,
    /// The number of the last fault; without --seconds and --minutes, however long it takes
    #[arg(long, value_name = "NUMBER")]
    faults: Option<u64>,
    /// The number of the first fault, play, or case of scenario matrix
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    from: u64,
    /// The only kinds of fault, parted by commas; a wrong one prints them all
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    only: Vec<Kind>,
    /// The only way in which operations on sequences end: top-level, commit, rollback, savepoint
    #[arg(long, value_name = "HOW")]
    ending: Option<Ending>,
    /// The seed of all choices; a new one by default
    #[arg(long, env = "SHARDID_SEED")]
    seed: Option<u64>,
    /// What happens
    #[arg(long, value_enum, default_value_t = Name::Random)]
    scenario: Name,
    /// Ids that each of the six sessions takes in scenario done-when
    #[arg(long, default_value_t = 500_000)]
    ids_each: u64,
    /// How many moves scenario moves makes
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    moves: u32,
    /// How many cases scenario matrix plays; all by default
    #[arg(long, value_name = "COUNT")]
    cases: Option<u32>,
    /// Who makes the ids: with one that is known to repeat, a run must fail
    #[arg(long, value_enum, default_value_t = Who::Shardid, hide = true)]
    maker: Who,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// Everything at random, for --seconds
    Random,
    /// Six sessions take --ids-each on one shard, in 20 crashes, with clock
    /// steps and a promotion in between
    DoneWhen,
    /// Plays of sessions on MariaDB, numbered, from --from on; some are killed, some crash
    Mariadb,
    /// The same on MySQL
    Mysql,
    /// --moves moves between three servers under traffic, every second one cut at a place
    /// or by a kill -9 of the program or of a server, half of those with a second program
    /// at the shard, then resumed or aborted
    Moves,
    /// All that a second program can be told at each place that the program can be cut at, in
    /// the order of the seed; or so many --cases --from one on, or as many as fit into --minutes
    Matrix,
}

#[derive(Clone, Copy, ValueEnum)]
enum Who {
    Shardid,
    Classic,
    Planted,
    Forged,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| u64::from(shardid_tests::rand::random::<u32>()));
    eprintln!("soak: seed {seed}");
    let soak = Soak {
        seed,
        scenario: match arguments.scenario {
            Name::Random => Scenario::Random(part(&arguments)),
            Name::DoneWhen => Scenario::Crashes { ids_each: arguments.ids_each },
            Name::Moves => return of_moves(seed, arguments.moves),
            Name::Matrix => return of_matrix(seed, &arguments),
            Name::Mariadb => return of_plays(Engine::MariaDb, seed, &arguments),
            Name::Mysql => return of_plays(Engine::MySql, seed, &arguments),
        },
        maker: match arguments.maker {
            Who::Shardid => Maker::Shardid,
            Who::Classic => Maker::Classic,
            Who::Planted => Maker::Planted,
            Who::Forged => Maker::Forged,
        },
        talk: true,
    };
    match soak.run() {
        Ok(report) => {
            println!("{report}\nseed {seed}");
            if let Name::Random = arguments.scenario {
                say_where_to_go_on(&arguments, seed, report.next_fault);
                println!("{}", report.line(seed, arguments.from));
            }
            ExitCode::SUCCESS
        }
        Err(finding) => {
            eprintln!("error: {finding}");
            let (from, next) = (arguments.from, finding.next_fault);
            eprintln!(
                "hint: it came with fault {next}; repeat it with --seed {seed} --from {from} \
                 --faults {next}; the server's log is in target/test-logs"
            );
            ExitCode::FAILURE
        }
    }
}

fn part(arguments: &Arguments) -> Part {
    let seconds = arguments.seconds.or(arguments.minutes.map(|minutes| minutes * 60));
    let forever = arguments.faults.map(|_| u64::from(u32::MAX));
    Part {
        from: arguments.from,
        to: arguments.faults.unwrap_or(u64::MAX),
        limit: Duration::from_secs(seconds.or(forever).unwrap_or(60)),
        only: arguments.only.clone(),
        ending: arguments.ending,
    }
}

fn say_where_to_go_on(arguments: &Arguments, seed: u64, next: u64) {
    match arguments.faults {
        Some(last) if next > last => println!("all {last} faults of seed {seed} are done"),
        _ => {
            let faults =
                arguments.faults.map_or(String::new(), |faults| format!(" --faults {faults}"));
            println!("go on with --seed {seed}{faults} --from {next}");
        }
    }
}

/// Ends with a panic at the first thing that is not as it should be.
fn of_moves(seed: u64, count: u32) -> ExitCode {
    let seen = moves(&mut StdRng::seed_from_u64(seed), Until::Moves(count), true);
    println!("{seen}\nseed {seed}");
    ExitCode::SUCCESS
}

/// Runs the test that plays a sample of them in `make test`, and has it play more.
fn of_matrix(seed: u64, arguments: &Arguments) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = std::process::Command::new(cargo);
    test.args(["test", "--quiet", "--package", "shardid-tests", "--test", "moves"])
        .args(["--", "matrix::two_programs", "--nocapture"])
        .env("MATRIX", arguments.cases.map_or("all".to_owned(), |cases| cases.to_string()))
        .env("MATRIX_FROM", arguments.from.to_string())
        .env("SHARDID_SEED", seed.to_string());
    if let Some(seconds) = arguments.seconds.or(arguments.minutes.map(|minutes| minutes * 60)) {
        test.env("MATRIX_SECONDS", seconds.to_string());
    }
    match test.status() {
        Ok(status) if status.success() => {
            println!("every case that was played left the shard whole and open once\nseed {seed}");
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

/// Plays for as long as it is told, 15 minutes by default.
fn of_plays(engine: Engine, seed: u64, arguments: &Arguments) -> ExitCode {
    let seconds = arguments.seconds.or(arguments.minutes.map(|minutes| minutes * 60));
    let began = Instant::now();
    let until = began + Duration::from_secs(seconds.unwrap_or(900));
    let engine_name = engine.to_string().to_lowercase();
    match Plays::new(engine, seed, None).run(arguments.from, until, 10) {
        Ok(played) => {
            println!(
                "{} plays on {}, {} ids, {} kills, {} timeouts, {} crashes, {} clock steps in {} s: no id came twice",
                played.next_play - arguments.from,
                engine,
                played.ids,
                played.kills,
                played.timeouts,
                played.crashes,
                played.steps,
                began.elapsed().as_secs()
            );
            println!(
                "to go on: make soak ARGS='--scenario {engine_name} --seed {seed} --from {}'",
                played.next_play
            );
            ExitCode::SUCCESS
        }
        Err(finding) => {
            eprintln!("error: {finding}");
            eprintln!(
                "hint: make soak ARGS='--scenario {engine_name} --seed {seed} --from {}' plays it again",
                finding.play
            );
            ExitCode::FAILURE
        }
    }
}
