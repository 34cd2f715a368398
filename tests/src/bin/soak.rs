//! `make soak`: a random run for as long as it is told; see `shardid_tests::soak`.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use shardid_tests::rand::SeedableRng;
use shardid_tests::rand::rngs::StdRng;
use shardid_tests::soak::{Maker, Scenario, Soak, Until, moves};

/// Lets crashes, clock steps and promotions come over sessions that take ids
///
/// Every id that a session receives is kept; none may come twice, those of a
/// session must rise, each must be of its shard, and none further ahead of the
/// clock than allowed. Ends with exit code 1 at the first one that does not
/// keep to that. The seed determines every choice, but not which process runs
/// at which instant: a run that found something may have to be repeated.
#[derive(Parser)]
#[command(name = "soak")]
struct Arguments {
    /// How long to go on
    #[arg(long, default_value_t = 60)]
    seconds: u64,
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
    /// --moves moves between three servers under traffic, every second one cut by
    /// a kill -9 of the program or of a server, then resumed or aborted
    Moves,
}

#[derive(Clone, Copy, ValueEnum)]
enum Who {
    Shardid,
    Classic,
    PutBack,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| u64::from(shardid_tests::rand::random::<u32>()));
    eprintln!("soak: seed {seed}");
    let soak = Soak {
        seed,
        scenario: match arguments.scenario {
            Name::Random => Scenario::Random(Duration::from_secs(arguments.seconds)),
            Name::DoneWhen => Scenario::Crashes { ids_each: arguments.ids_each },
            Name::Moves => return of_moves(seed, arguments.moves),
        },
        maker: match arguments.maker {
            Who::Shardid => Maker::Shardid,
            Who::Classic => Maker::Classic,
            Who::PutBack => Maker::PutBack,
        },
        talk: true,
    };
    match soak.run() {
        Ok(report) => {
            println!("{report}\nseed {seed}");
            ExitCode::SUCCESS
        }
        Err(finding) => {
            eprintln!("error: {finding}");
            eprintln!(
                "hint: repeat it with --seed {seed}; the server's log is in target/test-logs"
            );
            ExitCode::FAILURE
        }
    }
}

/// Ends with a panic at the first thing that is not as it should be.
fn of_moves(seed: u64, count: u32) -> ExitCode {
    let seen = moves(&mut StdRng::seed_from_u64(seed), Until::Moves(count), true);
    println!("{seen}\nseed {seed}");
    ExitCode::SUCCESS
}
